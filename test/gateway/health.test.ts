import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { Health } from "@svc/contract/browser/health.ts";
import { beforeEach, expect, test } from "vitest";
import { healthOf } from "../../src/routes/health.ts";
import { call, clearFleet, newPool } from "../support/worker/gateway.ts";

beforeEach(clearFleet);

test("without a pool the gateway is alive and saturated", async () => {
  const response = await call("/health");
  expect(response.status).toBe(200);
  const none = { idle: 0, busy: 0, recycling: 0, pools: 0 };
  expect(await response.json()).toEqual({
    ok: true,
    ...none,
    saturated: true,
    fast: none,
    stealth: none,
  });
});

test("the counts are those of the registered pools", async () => {
  const pool = await newPool();
  await pool.beat({ kinds: { fast: { idle: 2, busy: 1, recycling: 3 } } });
  const health = Health.parse(await (await call("/health")).json());
  expect(health).toMatchObject({ idle: 2, busy: 1, recycling: 3, pools: 1, saturated: false });
  expect(health.fast).toEqual({ idle: 2, busy: 1, recycling: 3, pools: 1 });
});

test("a draining pool has no idle slots, and a kind with nothing but a hint is no pool", () => {
  const host: HostRecord = {
    hostId: "a",
    type: "pool",
    url: "http://a",
    versions: {},
    draining: true,
    kinds: {
      fast: { idle: 3, busy: 1, recycling: 0 },
      stealth: { idle: 0, busy: 0, recycling: 0, hint: "no Xvfb" },
    },
    seenAt: 0,
  };
  const health = healthOf([host]);
  expect(health).toMatchObject({ idle: 0, busy: 1, saturated: true });
  expect([health.fast.pools, health.stealth.pools]).toEqual([1, 0]);
});

test("saturated is true exactly when nothing is idle over both kinds", () => {
  const host = (fast: number, stealth: number): HostRecord => ({
    hostId: "a",
    type: "pool",
    url: "http://a",
    versions: {},
    draining: false,
    kinds: {
      fast: { idle: fast, busy: 1, recycling: 0 },
      stealth: { idle: stealth, busy: 1, recycling: 0 },
    },
    seenAt: 0,
  });
  expect(healthOf([host(0, 0)]).saturated).toBe(true);
  expect(healthOf([host(0, 1)]).saturated).toBe(false);
  expect(healthOf([host(0, 0), host(1, 0)]).saturated).toBe(false);
});
