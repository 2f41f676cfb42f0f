import { env } from "cloudflare:workers";
import { KeyList } from "@svc/contract/admin/orgs.ts";
import { expect, test } from "vitest";
import { admin } from "../../support/worker/operator.ts";
import { newOrg } from "../../support/worker/gateway.ts";

test("a key is shown once and only its hash is kept", async () => {
  const { orgId, keyId, key } = await newOrg();
  expect(key).toMatch(new RegExp(`^svc_live_${keyId}_[0-9A-Za-z]{40}$`));
  const row = await env.DB.prepare("SELECT * FROM api_keys WHERE id = ?").bind(keyId).first();
  expect(row?.["secret_sha256"]).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.stringify(row)).not.toContain(key.slice(-40));
  const list = await (await admin(`/admin/orgs/${orgId}/keys`)).text();
  expect(list).not.toContain(key.slice(-40));
  expect(KeyList.parse(JSON.parse(list)).keys).toMatchObject([
    { keyId, name: "key", revokedAt: null },
  ]);
});
