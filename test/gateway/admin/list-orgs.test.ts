import { env } from "cloudflare:workers";
import { Org, OrgList } from "@svc/contract/admin/orgs.ts";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { D1_DOWN } from "../../support/worker/faults.ts";
import { json } from "../../support/worker/gateway.ts";
import { admin } from "../../support/worker/operator.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

test("orgs are listed as they were made", async () => {
  const made: Org[] = [];
  for (const name of ["one", "two"]) {
    const wanted = json({ name, plan: "starter", creditCents: 5 });
    made.push(Org.parse(await (await admin("/admin/orgs", wanted)).json()));
  }
  const response = await admin("/admin/orgs");
  expect(response.status).toBe(200);
  const { orgs } = OrgList.parse(await response.json());
  expect(orgs).toEqual(expect.arrayContaining(made));
});

test("the operator's own calls are 502 and retryable while D1 is down", async () => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const response = await app.request("/admin/orgs", { headers }, { ...env, DB: D1_DOWN });
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({
    code: "ControlPlaneUnavailable",
    retryable: true,
  });
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
