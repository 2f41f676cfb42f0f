import { timers } from "../../../durable-objects/session/transitions.ts";
import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { DutyRecord } from "../../../durable-objects/live/duty-record.ts";
import { SESSION_TABLE } from "../../../durable-objects/session/table.ts";
import type { StoredSession } from "../../../durable-objects/session/record.ts";
import {
  call,
  clearFleet,
  hastily,
  json,
  newOrg,
  newPool,
  slotOf,
} from "../../support/worker/gateway.ts";
import { placed, stored } from "../../support/worker/session.ts";

const create = (key: string) => call("/sessions", { method: "POST", bearer: key });

describe("a duty whose object dies before it is done", () => {
  test("is owed with a time, and the alarm does it", async () => {
    const { key, stub } = await placed({ browsers: 1 });
    // As a release leaves it when the object dies in the next instant: only the state was written.
    await runInDurableObject(stub, async (_object, state) => {
      const session = state.storage.kv.get<StoredSession>("session");
      if (!session) throw new Error("no session");
      const now = Date.now();
      state.storage.kv.put("session", {
        ...session,
        state: { status: "released", reason: "released", endedAt: now, usedUntil: now },
        owed: ["reservation", "usage", "host"],
        retryAt: now + 60_000,
      });
      await state.storage.deleteAlarm();
    });
    await evictDurableObject(stub);
    expect((await create(key)).status).toBe(429);
    // The lost alarm is set again by any look at the session.
    await stub.read();
    await vi.waitFor(async () => expect(await runDurableObjectAlarm(stub)).toBe(true), 30_000);
    expect((await stored(stub))?.owed).toEqual([]);
    expect((await create(key)).status).toBe(201);
  });

  test("has its alarm in the same turn as the change: nothing comes between the two", async () => {
    const { stub } = await placed();
    const [alarm, now] = await runInDurableObject(stub, async (_object, state) => {
      const at = Date.now();
      new DutyRecord(state.storage, SESSION_TABLE).apply({ type: "release" }, at);
      return [await state.storage.getAlarm(), at];
    });
    expect(alarm).toBe(now + 1000);
  });

  test("has that time in the same write as the change", async () => {
    const { stub } = await placed();
    const [session, now] = await runInDurableObject(stub, (object, state) => {
      const at = Date.now();
      void object.release();
      return [state.storage.kv.get<StoredSession>("session"), at];
    });
    expect(session?.owed).toContain("reservation");
    expect(session?.retryAt).toBeGreaterThan(now);
  });
});

test("a client that comes back in the last moment of its linger is not cut by it", async () => {
  const { id, stub, pool } = await placed();
  const headers = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  (await call(`/cdp/${id}`, { headers })).webSocket?.accept();
  await pool.beat({ slots: [slotOf(id, { opens: 1 })] });
  // The moment lasts as long as the test.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  await pool.beat({ slots: [slotOf(id, { opens: 1, closes: 1, lastClose: "clean" })] });
  const response = await call(`/cdp/${id}`, { headers });
  expect(response.status).toBe(101);
  response.webSocket?.accept();
  // No heartbeat has told of the new socket yet.
  const state = (await stored(stub))?.state;
  expect(state).toMatchObject({ status: "active", claim: { opens: 2 } });
  expect(state && timers(state)).not.toHaveProperty("linger");
  response.webSocket?.close();
});

test("a session that ended long ago is forgotten; its id still says that it was the org's", async () => {
  const { id, key, orgId, stub } = await placed();
  await stub.release();
  await vi.waitFor(async () => expect((await stored(stub))?.owed).toEqual([]), 30_000);
  // Set once the last duty is done.
  await vi.waitFor(async () => {
    const alarm = await runInDurableObject(stub, (_object, state) => state.storage.getAlarm());
    expect(alarm).toBeGreaterThan(Date.now() + LIMITS.endedListedMs - 60_000);
  }, 30_000);
  await runInDurableObject(stub, (_object, state) => {
    const session = state.storage.kv.get<StoredSession>("session");
    if (session?.state.status !== "released") throw new Error("not released");
    const endedAt = Date.now() - LIMITS.endedListedMs;
    state.storage.kv.put("session", { ...session, state: { ...session.state, endedAt } });
  });
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(stub);
    expect(await stored(stub)).toBeUndefined();
  }, 30_000);
  await runInDurableObject(env.ORGS.getByName(orgId), (_object, { storage }) => {
    storage.sql.exec("DELETE FROM claims");
  });
  const record = await call(`/sessions/${id}`, { bearer: key });
  expect(record.status).toBe(200);
  expect(await record.json()).toMatchObject({ id, status: "released", expiresAt: null });
  expect((await call(`/sessions/${id}`, { method: "DELETE", bearer: key })).status).toBe(204);
  expect((await call(`/sessions/${id}/lease`, { method: "POST", bearer: key })).status).toBe(409);
});

test("a pool that was lost is billed up to its last heartbeat only", async () => {
  const { id, stub, pool } = await placed();
  const { bootId } = await pool.heartbeat();
  const seenAt = Date.now() - 100_000;
  await stub.hostChanged({ hostId: pool.hostId, bootId }, { type: "hostLost", seenAt });
  await vi.waitFor(async () => {
    const row = await env.DB.prepare("SELECT ended_at FROM usage_segments WHERE id = ?")
      .bind(id)
      .first<{ ended_at: number | null }>();
    expect(row?.ended_at).toBe(seenAt);
  }, 30_000);
});

test("one session whose object fails is unknown in the list, and does not take the list with it", async () => {
  const { id, key, stub } = await placed();
  await runInDurableObject(stub, (_object, state) => state.storage.kv.put("session", "broken"));
  const response = await call("/sessions", { bearer: key });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    sessions: [{ id, status: "unknown", kind: null }],
  });
  const one = await call(`/sessions/${id}`, { bearer: key });
  expect(one.status).toBe(503);
  expect(await one.json()).toMatchObject({ code: "ObjectUnavailable", retryable: true });
});

test("nothing holds a slot long after its deadline, whoever failed to free it", async () => {
  const { key, orgId } = await placed({ browsers: 1 });
  expect((await create(key)).status).toBe(429);
  await runInDurableObject(env.ORGS.getByName(orgId), (_object, state) => {
    state.storage.sql.exec("UPDATE claims SET expires_at = ?", Date.now() - LIMITS.overdueMs - 1);
  });
  expect((await create(key)).status).toBe(201);
});

describe("a create", () => {
  const page = "<h1>Bad gateway</h1>";
  test.each<Record<string, string>>([
    { put: "answer", status: "401", body: '{"error":"clock skew"}' },
    { put: "answer", status: "407", body: '{"error":"a proxy"}' },
    { put: "answer", status: "403", body: page },
    { put: "answer", status: "404", body: page },
    { put: "answer", status: "500", body: page },
    { put: "answer", status: "502", body: page },
    { put: "answer", status: "200", body: "{}" },
    { put: "redirect" },
  ])(
    "goes on to the next pool when something before one answers %j, and never shows it to the customer",
    async (mode) => {
      await clearFleet();
      const bad = await newPool();
      await bad.beat({ kinds: { fast: { idle: 99, busy: 0, recycling: 0 } } });
      await bad.steer(mode);
      await newPool();
      const { key } = await newOrg();
      expect((await create(key)).status).toBe(201);
      expect((await bad.calls()).filter(({ method }) => method === "PUT")).toHaveLength(1);
    },
  );

  test("ends near its acquire timeout though every pool hangs", async () => {
    await clearFleet();
    const pools = [await newPool(), await newPool(), await newPool()];
    for (const pool of pools) await pool.steer({ put: "hang" });
    const { key } = await newOrg();
    const response = await hastily("/sessions", { method: "POST", bearer: key });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "AcquireTimeout" });
    // One pool may take 3 s beyond what it was told: the timeout is over then, and no other one is asked.
    const calls = await Promise.all(pools.map((pool) => pool.calls()));
    expect(calls.flat().filter(({ method }) => method === "PUT")).toHaveLength(1);
  });

  test("that waits has no lease to renew yet", async () => {
    await clearFleet();
    await (await newPool()).steer({ put: "full" });
    const { key, orgId } = await newOrg();
    const waiting = create(key);
    const org = env.ORGS.getByName(orgId);
    const lines = async () => (await org.sessions({ limit: 1, cursor: null, status: null })).lines;
    await vi.waitFor(async () => expect(await lines()).toHaveLength(1), 30_000);
    const id = (await lines())[0]?.id ?? "";
    const record = await call(`/sessions/${id}`, { bearer: key });
    expect(await record.json()).toMatchObject({ status: "active" });
    const init = { ...json({ idleSeconds: 5 }), bearer: key };
    const renewed = await call(`/sessions/${id}/lease`, init);
    expect(renewed.status).toBe(409);
    expect(await renewed.json()).toMatchObject({ error: expect.stringContaining("being created") });
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    await waiting;
    const released = await call(`/sessions/${id}`, { bearer: key });
    expect(await released.json()).toMatchObject({ status: "released" });
  });
});
