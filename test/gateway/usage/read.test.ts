import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { Usage } from "@svc/contract/usage.ts";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { writeSegment } from "../../../control-plane/usage.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

const HOUR = 3_600_000;

const DAY = Date.UTC(2026, 0, 10);

const at = (hours: number) => new Date(DAY + hours * HOUR).toISOString();

/** An org that used a browser from 1:00 to 3:00, and a VM of 2 processors and 4 GiB from 2:00 to 6:00. */
async function customer() {
  const org = await newOrg();
  const { orgId } = org;
  const span = (from: number, to: number | null) => ({
    startedAt: DAY + from * HOUR,
    endedAt: to === null ? null : DAY + to * HOUR,
  });
  await writeSegment(env.DB, { id: `s-${orgId}`, orgId, kind: "browser", ...span(1, 3) });
  const size = { cpu: 2, memMb: 4096 };
  await writeSegment(env.DB, { id: `v-${orgId} 1`, orgId, kind: "vm", ...size, ...span(2, 6) });
  return org;
}

async function read(key: string, query: string): Promise<Usage> {
  const response = await call(`/usage${query}`, { bearer: key });
  expect(response.status).toBe(200);
  return Usage.parse(await response.json());
}

const down = () => Promise.reject(new Error("D1 is down"));

test("the sums and prices of usage are those of the stretch that was asked for", async () => {
  const { key, orgId } = await customer();
  const whole = await read(key, `?from=${at(0)}&to=${at(24)}`);
  expect(whole).toEqual({
    from: at(0),
    to: at(24),
    browserSeconds: 2 * 3600,
    vcpuSeconds: 2 * 4 * 3600,
    memGibSeconds: 4 * 4 * 3600,
    // 2 browser hours at 10, 8 vCPU hours at 5, 16 GiB hours at 1.5.
    cents: 20 + 40 + 24,
    creditCents: null,
    kept: {
      machines: { used: 0, cap: 10 },
      snapshots: { used: 0, cap: 50 },
      templates: { used: 0, cap: 10 },
      volumes: { used: 0, cap: 5 },
      gib: { used: 0, cap: 20, machines: 0, snapshots: 0, volumes: 0 },
    },
    segments: [
      { id: `v-${orgId}`, kind: "vm", startedAt: at(2), endedAt: at(6), cents: 64 },
      { id: `s-${orgId}`, kind: "browser", startedAt: at(1), endedAt: at(3), cents: 20 },
    ],
  });
});

test.each([
  [2.5, 5, { browserSeconds: 1800, vcpuSeconds: 18_000 }, 2],
  [0, 1, { browserSeconds: 0, vcpuSeconds: 0, cents: 0 }, 0],
  [3, 3, { browserSeconds: 0, vcpuSeconds: 0, cents: 0 }, 1],
  [6, 24, { browserSeconds: 0, cents: 0 }, 0],
])("of usage from %f to %f only what lies within counts", async (from, to, sums, segments) => {
  const { key } = await customer();
  const found = await read(key, `?from=${at(from)}&to=${at(to)}`);
  expect(found).toMatchObject(sums);
  expect(found.segments).toHaveLength(segments);
});

test("usage of what still runs is counted until now, and has no end", async () => {
  const { key, orgId } = await newOrg();
  const startedAt = Date.now() - HOUR;
  await writeSegment(env.DB, { id: orgId, orgId, kind: "browser", startedAt, endedAt: null });
  const from = new Date(startedAt - HOUR).toISOString();
  const { browserSeconds, segments } = await read(key, `?from=${from}`);
  expect(browserSeconds).toBeGreaterThanOrEqual(3600);
  expect(browserSeconds).toBeLessThan(3660);
  expect(segments).toMatchObject([{ id: orgId, endedAt: null }]);
});

test("usage without a time is the month so far, of this org alone", async () => {
  const { key } = await newOrg();
  await customer();
  const { from, to, segments, cents } = await read(key, "");
  expect(from).toMatch(/-01T00:00:00\.000Z$/);
  expect(Date.parse(to)).toBeLessThanOrEqual(Date.now());
  expect({ segments, cents }).toEqual({ segments: [], cents: 0 });
});

test("usage lists at most a thousand segments, its sums are of all", async () => {
  const { key, orgId } = await newOrg();
  const insert = env.DB.prepare(
    `INSERT INTO usage_segments (id, org_id, kind, started_at, ended_at)
     SELECT ?1 || value, ?1, 'browser', ?2 + value, ?2 + value + 1000 FROM json_each(?3)`,
  );
  const many = LIMITS.usageSegments + 1;
  const numbers = JSON.stringify(Array.from({ length: many }, (_, n) => n));
  await insert.bind(orgId, DAY, numbers).run();
  const found = await read(key, `?from=${at(0)}&to=${at(24)}`);
  expect(found.segments).toHaveLength(LIMITS.usageSegments);
  expect(found.segments[0]?.startedAt).toBe(new Date(DAY + many - 1).toISOString());
  expect(found.browserSeconds).toBe(many);
});

test.each([
  ["from=yesterday", "from"],
  ["from=5", "from"],
  ["to=2026-13-01", "to"],
  ["to=2026-01-01T10:00", "to"],
  ["from=2026-01-02&to=2026-01-01", "from"],
])("usage with %s is 400 at %s", async (query, field) => {
  const { key } = await newOrg();
  const response = await call(`/usage?${query}`, { bearer: key });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "ValidationError", field });
});

test("usage is 502 and retryable while the database is down", async () => {
  const { key } = await newOrg();
  await call("/sessions", { bearer: key });
  const DB = { prepare: () => ({ bind: () => ({ first: down, all: down }) }) };
  const headers = { authorization: `Bearer ${key}` };
  const response = await app.request("/usage", { headers }, { ...env, DB });
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ retryable: true });
});

test("usage is 503 and retryable while the org's object fails", async () => {
  const { key } = await newOrg();
  const kept = () => Promise.reject(new Error("wedged"));
  const headers = { authorization: `Bearer ${key}` };
  const bare = { ...env, ORGS: { getByName: () => ({ kept }) } };
  const response = await app.request("/usage", { headers }, bare);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: "ObjectUnavailable", retryable: true });
});

test("usage of a prepaid org says what is left; what was used before credit was given is not taken from it", async () => {
  const { key, orgId } = await customer();
  const balance = async () => (await read(key, "")).creditCents ?? Number.NaN;
  const give = (creditCents: number | null) =>
    call(`/admin/orgs/${orgId}`, { ...json({ creditCents }, "PATCH"), bearer: ADMIN_TOKEN });
  await give(50);
  expect(await balance()).toBe(50);
  // Begun before, and going on: from now on it counts.
  const now = Date.now();
  const open = { id: `o-${orgId}`, orgId, kind: "browser" } as const;
  await writeSegment(env.DB, { ...open, startedAt: now - 20 * HOUR, endedAt: now + 2 * HOUR });
  expect(await balance()).toBeCloseTo(30, 1);
  // A change of something else leaves it.
  const patch = { ...json({ plan: "starter" }, "PATCH"), bearer: ADMIN_TOKEN };
  expect((await call(`/admin/orgs/${orgId}`, patch)).status).toBe(200);
  expect(await balance()).toBeCloseTo(30, 1);
  await give(null);
  expect(await balance()).toBeNaN();
});
