import { Org } from "@svc/contract/admin/orgs.ts";
import { expect, test } from "vitest";
import { admin, BAD_ORGS } from "../../support/worker/operator.ts";
import { call, json, newOrg, newPool } from "../../support/worker/gateway.ts";

test("a patch of an org changes what it names, at once for the keys in use here", async () => {
  await newPool();
  const { orgId, key } = await newOrg("free", { browsers: 0 });
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(429);
  const patch = json({ overrides: { browsers: 1 } }, "PATCH");
  const patched = Org.parse(await (await admin(`/admin/orgs/${orgId}`, patch)).json());
  expect(patched).toMatchObject({ plan: "free", overrides: { browsers: 1 } });
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
});

test.each(BAD_ORGS)(
  "an org is not changed by %s: 400 that names the field",
  async (_name, body, code, field) => {
    const response = await admin("/admin/orgs/x", { method: "PATCH", body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code, ...(field !== undefined && { field }) });
  },
);

test("an unknown org is 404 on every route of it", async () => {
  expect((await admin("/admin/orgs/nope", json({}, "PATCH"))).status).toBe(404);
  expect((await admin("/admin/orgs/nope/keys")).status).toBe(404);
  expect((await admin("/admin/orgs/nope/keys", { method: "POST" })).status).toBe(404);
});
