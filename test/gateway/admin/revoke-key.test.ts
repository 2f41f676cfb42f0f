import { admin } from "../../support/worker/operator.ts";
import { env } from "cloudflare:workers";
import { KeyList } from "@svc/contract/admin/orgs.ts";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { forgetKey } from "../../../src/middleware/key-cache.ts";
import { call, newOrg } from "../../support/worker/gateway.ts";

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

test("an unknown key is 404", async () => {
  expect((await admin("/admin/keys/nope", { method: "DELETE" })).status).toBe(404);
});

describe("while D1 is down", () => {
  const broken = {
    ...env,
    DB: {
      prepare() {
        throw new Error("D1 is down");
      },
    } as unknown as D1Database,
  };
  const list = (key: string) =>
    app.request("/sessions", { headers: { authorization: `Bearer ${key}` } }, broken);

  test("a key used within the last minute goes on", async () => {
    const { key } = await newOrg();
    await call("/sessions", { bearer: key });
    expect((await list(key)).status).toBe(200);
  });

  test("another one is 503 and retryable, never a false 401", async () => {
    const { key, keyId } = await newOrg();
    forgetKey(keyId);
    const response = await list(key);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "KeyCheckUnavailable", retryable: true });
  });

  test("the operator's own calls are 502 and retryable", async () => {
    const headers = { authorization: "Bearer admin" };
    const response = await app.request("/admin/orgs", { headers }, broken);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      code: "ControlPlaneUnavailable",
      retryable: true,
    });
  });
});
