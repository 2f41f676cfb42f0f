import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Usage } from "@svc/contract/usage.ts";
import { expect, test, vi } from "vitest";
import { runScheduled } from "../../../src/scheduled.ts";
import { call, clearFleet, newOrg, newPool } from "../../support/worker/gateway.ts";

test("a session that waited for its slot is billed from the slot on, and lives from its create on", async () => {
  await clearFleet();
  const pool = await newPool();
  await pool.steer({ put: "full" });
  const { key, orgId } = await newOrg("free", { sessionMinutes: 30 });
  const createdFrom = Date.now();
  const creating = call("/sessions", { method: "POST", bearer: key });
  const org = env.ORGS.getByName(orgId);
  const lines = async () => (await org.sessions({ limit: 1, cursor: null, status: null })).lines;
  await vi.waitFor(async () => expect(await lines()).toHaveLength(1), 30_000);
  const createdTo = Date.now();
  // Once it has waited for as long as the create may have taken to begin, and more.
  await vi.waitUntil(() => Date.now() > createdTo + 1000, { timeout: 30_000 });
  const placedFrom = Date.now();
  await pool.steer({ put: "ok" });
  const created = await (await creating).json<{ expiresAt: string }>();
  const lifeMs = 30 * 60_000;
  expect(Date.parse(created.expiresAt)).toBeGreaterThanOrEqual(createdFrom + lifeMs);
  expect(Date.parse(created.expiresAt)).toBeLessThanOrEqual(createdTo + lifeMs);
  await vi.waitFor(async () => {
    const usage = Usage.parse(await (await call("/usage", { bearer: key })).json());
    expect(usage.segments).toHaveLength(1);
    const startedAt = Date.parse(usage.segments[0]?.startedAt ?? "");
    expect(startedAt).toBeGreaterThanOrEqual(placedFrom);
  }, 30_000);
});

test("a session whose alarm is lost is billed to its end all the same", async () => {
  await clearFleet();
  await newPool();
  const { key, orgId } = await newOrg("free");
  const created = await call("/sessions", { method: "POST", bearer: key });
  const { sessionId } = await created.json<{ sessionId: string }>();
  const segment = () =>
    env.DB.prepare("SELECT ended_at FROM usage_segments WHERE id = ? AND org_id = ?")
      .bind(sessionId, orgId)
      .first<{ ended_at: number | null }>();
  await vi.waitFor(async () => expect(await segment()).toEqual({ ended_at: null }), 30_000);
  const endedAt = Date.now();
  await runInDurableObject(env.SESSIONS.getByName(sessionId), async (_object, { storage }) => {
    const state = { status: "released", reason: "released", endedAt, usedUntil: endedAt };
    const record = storage.kv.get<object>("session");
    storage.kv.put("session", { ...record, state, owed: ["usage"], retryAt: endedAt });
    await storage.deleteAlarm();
  });
  const longAgo = endedAt - 3_600_000;
  await env.DB.prepare("UPDATE usage_segments SET started_at = ?").bind(longAgo).run();
  await runScheduled({} as ScheduledController, env);
  await vi.waitFor(async () => expect(await segment()).toEqual({ ended_at: endedAt }), 30_000);
});
