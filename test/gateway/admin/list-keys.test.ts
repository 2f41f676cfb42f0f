import { KeyCreated, KeyList } from "@svc/contract/admin/orgs.ts";
import { expect, test } from "vitest";
import { json, newOrg } from "../../support/worker/gateway.ts";
import { admin } from "../../support/worker/operator.ts";

test("keys are those of one org, by their names and without their secrets", async () => {
  const { orgId, keyId, key } = await newOrg();
  await newOrg();
  const path = `/admin/orgs/${orgId}/keys`;
  const second = KeyCreated.parse(await (await admin(path, json({ name: "second" }))).json());
  const response = await admin(path);
  expect(response.status).toBe(200);
  const text = await response.text();
  const { keys } = KeyList.parse(JSON.parse(text));
  expect(Object.fromEntries(keys.map((one) => [one.keyId, one.name]))).toEqual({
    [keyId]: "key",
    [second.keyId]: "second",
  });
  for (const secret of [key, second.key]) expect(text).not.toContain(secret.slice(-40));
});
