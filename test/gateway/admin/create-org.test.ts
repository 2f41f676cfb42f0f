import { admin, BAD_ORGS } from "../../support/worker/operator.ts";
import { env } from "cloudflare:workers";
import { Org, OrgList } from "@svc/contract/admin/orgs.ts";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { call, json, newOrg, newPool } from "../../support/worker/gateway.ts";

test("an org has the free plan, no overrides and no prepaid credit unless told", async () => {
  const response = await admin("/admin/orgs", json({ name: "  Acme " }));
  expect(response.status).toBe(201);
  const org = Org.parse(await response.json());
  expect(org).toMatchObject({ name: "Acme", plan: "free", overrides: {}, creditCents: null });
  expect(org.orgId).toMatch(/^org_[0-9A-Za-z]{16}$/);
  const { orgs } = OrgList.parse(await (await admin("/admin/orgs")).json());
  expect(orgs).toContainEqual(org);
});

test.each(BAD_ORGS)("%s is 400 and names its field", async (_name, body, code, field) => {
  const response = await admin("/admin/orgs", { method: "POST", body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code, ...(field !== undefined && { field }) });
});

test.each(BAD_ORGS)("%s is 400 and names its field", async (_name, body, code, field) => {
  const response = await admin("/admin/orgs/x", { method: "PATCH", body });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code, ...(field !== undefined && { field }) });
});

test("a blank name is 400", async () => {
  const response = await admin("/admin/orgs", json({ name: "  " }));
  expect(await response.json()).toMatchObject({ code: "ValidationError", field: "name" });
});

test("a patch changes what it names, at once for the keys in use here", async () => {
  await newPool();
  const { orgId, key } = await newOrg("free", { browsers: 0 });
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(429);
  const patch = json({ overrides: { browsers: 1 } }, "PATCH");
  const patched = Org.parse(await (await admin(`/admin/orgs/${orgId}`, patch)).json());
  expect(patched).toMatchObject({ plan: "free", overrides: { browsers: 1 } });
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
});

test("an unknown org is 404 on every route of it", async () => {
  expect((await admin("/admin/orgs/nope", json({}, "PATCH"))).status).toBe(404);
  expect((await admin("/admin/orgs/nope/keys")).status).toBe(404);
  expect((await admin("/admin/orgs/nope/keys", { method: "POST" })).status).toBe(404);
});

test("without SVC_ADMIN_TOKEN the operator API is 501", async () => {
  const { SVC_ADMIN_TOKEN: _unset, ...bare } = env;
  const response = await app.request(
    "/admin/orgs",
    { headers: { authorization: "Bearer " } },
    bare,
  );
  expect(response.status).toBe(501);
  expect(await response.json()).toMatchObject({ code: "NotConfigured" });
});
