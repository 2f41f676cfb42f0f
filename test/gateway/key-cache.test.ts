import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterEach, expect, test, vi } from "vitest";
import { app } from "../../src/app.ts";
import { forgetKey } from "../../src/middleware/key-cache.ts";
import { D1_DOWN } from "../support/worker/faults.ts";
import { call, json, newOrg } from "../support/worker/gateway.ts";

afterEach(() => void vi.useRealTimers());

const later = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });

test("a key revoked behind this replica's back goes on for at most 60 s", async () => {
  const { key, keyId } = await newOrg();
  const status = async () => (await call("/sessions", { bearer: key })).status;
  expect(await status()).toBe(200);
  await env.DB.prepare("UPDATE api_keys SET revoked_at = 1 WHERE id = ?").bind(keyId).run();
  expect(await status()).toBe(200);
  later(LIMITS.bearerCacheMs);
  expect(await status()).toBe(401);
});

test("a plan changed behind this replica's back counts after at most 60 s", async () => {
  const { key, orgId } = await newOrg("free");
  const refusal = async () => {
    const wanted = json({ stealth: true, proxy: "us", allowedDomains: ["a.example"] });
    return (await call("/sessions", { ...wanted, bearer: key })).json();
  };
  expect(await refusal()).toMatchObject({ feature: "proxy" });
  await env.DB.prepare("UPDATE orgs SET plan = 'starter' WHERE id = ?").bind(orgId).run();
  later(LIMITS.bearerCacheMs);
  expect(await refusal()).toMatchObject({ feature: "allowedDomains" });
});

const broken = { ...env, DB: D1_DOWN };
const list = (key: string) =>
  app.request("/sessions", { headers: { authorization: `Bearer ${key}` } }, broken);

test("a key used within the last minute goes on while D1 is down", async () => {
  const { key } = await newOrg();
  await call("/sessions", { bearer: key });
  expect((await list(key)).status).toBe(200);
});

test("a key not used of late is 503 and retryable while D1 is down, never a false 401", async () => {
  const { key, keyId } = await newOrg();
  forgetKey(keyId);
  const response = await list(key);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: "KeyCheckUnavailable", retryable: true });
});
