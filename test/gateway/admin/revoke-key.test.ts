import { KeyList } from "@svc/contract/admin/orgs.ts";
import { expect, test } from "vitest";
import { admin } from "../../support/worker/operator.ts";
import { call, newOrg } from "../../support/worker/gateway.ts";

test("a revoked key fails at once on this replica, stays listed, and revokes twice", async () => {
  const { orgId, keyId, key } = await newOrg();
  expect((await call("/sessions", { bearer: key })).status).toBe(200);
  const revoke = () => admin(`/admin/keys/${keyId}`, { method: "DELETE" });
  expect((await revoke()).status).toBe(204);
  expect((await call("/sessions", { bearer: key })).status).toBe(401);
  const first = await (await admin(`/admin/orgs/${orgId}/keys`)).text();
  expect((await revoke()).status).toBe(204);
  expect(await (await admin(`/admin/orgs/${orgId}/keys`)).text()).toBe(first);
  expect(KeyList.parse(JSON.parse(first)).keys[0]?.revokedAt).not.toBeNull();
});

test("revoking an unknown key is 404", async () => {
  expect((await admin("/admin/keys/nope", { method: "DELETE" })).status).toBe(404);
});
