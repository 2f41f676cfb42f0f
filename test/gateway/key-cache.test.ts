import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterEach, expect, test, vi } from "vitest";
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
