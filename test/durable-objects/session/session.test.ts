import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { StoredSession } from "../../../durable-objects/session/record.ts";
import {
  call,
  clearFleet,
  HASTE_MS,
  hastily,
  newOrg,
  newPool,
  slotOf,
} from "../../support/worker/gateway.ts";
import { placed, stored } from "../../support/worker/session.ts";

afterEach(() => void vi.useRealTimers());

const segment = (id: string) =>
  env.DB.prepare("SELECT * FROM usage_segments WHERE id = ?")
    .bind(id)
    .first<{ org_id: string; kind: string; started_at: number; ended_at: number | null }>();

describe("usage", () => {
  test("one segment a session: opened at create, closed at the end", async () => {
    const { id, orgId, stub } = await placed();
    await vi.waitFor(async () => {
      expect(await segment(id)).toMatchObject({ org_id: orgId, kind: "browser", ended_at: null });
    }, 30_000);
    await stub.release();
    await vi.waitFor(async () => expect((await segment(id))?.ended_at).toBeGreaterThan(0), 30_000);
    await vi.waitFor(async () => expect((await stored(stub))?.owed).toEqual([]), 30_000);
  });

  test("a database that fails is tried again by the alarm", async () => {
    const { id, stub } = await placed();
    await vi.waitFor(async () => expect(await segment(id)).not.toBeNull(), 30_000);
    await env.DB.exec("ALTER TABLE usage_segments RENAME TO gone");
    await stub.release();
    await vi.waitFor(async () => expect((await stored(stub))?.retryAt).not.toBeNull(), 30_000);
    expect((await stored(stub))?.owed).toContain("usage");
    await env.DB.exec("ALTER TABLE gone RENAME TO usage_segments");
    await evictDurableObject(stub);
    // Whether it is made to ring or rings by itself.
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(stub);
      expect((await stored(stub))?.owed).toEqual([]);
    }, 30_000);
    expect((await segment(id))?.ended_at).toBeGreaterThan(0);
  });
});

describe("the alarm", () => {
  test("ends a session at its deadline, frees its place and tells the pool", async () => {
    const { id, key, stub, pool } = await placed({ browsers: 1 });
    await runInDurableObject(stub, (_object, state) => {
      const session = state.storage.kv.get<StoredSession>("session");
      if (session?.state.status !== "active") throw new Error("not active");
      const expiresAt = Date.now() + 1000;
      state.storage.kv.put("session", {
        ...session,
        expiresAt,
        state: { ...session.state, expiresAt },
      });
    });
    // A look sees to the alarm, which ends it: no other look does.
    await stub.read();
    await vi.waitFor(async () => {
      expect((await stored(stub))?.state.status).toBe("expired");
    }, 30_000);
    await vi.waitFor(async () => {
      const deletes = (await pool.calls()).filter(({ method }) => method === "DELETE");
      expect(deletes.map(({ path }) => path)).toEqual([`/slots/${id}`]);
    }, 30_000);
    expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
  });

  test("that was lost is set again by the next look at the session", async () => {
    const { stub } = await placed();
    await runInDurableObject(stub, (_object, state) => state.storage.deleteAlarm());
    await stub.read();
    await vi.waitFor(async () => {
      const alarm = await runInDurableObject(stub, (_object, state) => state.storage.getAlarm());
      expect(alarm).not.toBeNull();
    }, 30_000);
  });

  test("ends a session that its client left, two seconds after", async () => {
    const { id, stub, pool } = await placed();
    await pool.beat({ slots: [slotOf(id, { opens: 1 })] });
    // However long this takes here, none of the two seconds passes.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await pool.beat({ slots: [slotOf(id, { opens: 1, closes: 1, lastClose: "clean" })] });
    expect((await stub.read())?.status).toBe("active");
    vi.useRealTimers();
    await vi.waitFor(
      async () => expect((await stub.read())?.closeReason).toBe("client_disconnected"),
      { timeout: 30_000, interval: 200 },
    );
  });
});

describe("a create that fails", () => {
  async function failed(mode: Record<string, string>) {
    await clearFleet();
    const pool = await newPool();
    await pool.steer(mode);
    const { key, orgId } = await newOrg("free", { browsers: 1 });
    const response = await hastily("/sessions", { method: "POST", bearer: key });
    return { pool, key, orgId, response };
  }

  async function leavesNothing(orgId: string, key: string): Promise<void> {
    await vi.waitFor(async () => {
      const page = await env.ORGS.getByName(orgId).sessions({
        limit: 9,
        cursor: null,
        status: null,
      });
      expect(page.lines).toEqual([]);
    }, 30_000);
    await clearFleet();
    await newPool();
    expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
  }

  test("without any pool is 503 after the acquire timeout, retryable, with a hint", async () => {
    await clearFleet();
    const { key, orgId } = await newOrg("free", { browsers: 1 });
    const before = Date.now();
    const response = await hastily("/sessions", { method: "POST", bearer: key });
    expect(Date.now() - before).toBeGreaterThan(HASTE_MS - 100);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      code: "AcquireTimeout",
      retryable: true,
      hint: expect.stringContaining("No registered browser pool"),
    });
    await leavesNothing(orgId, key);
  });

  test("because every slot is taken is 503 and says so", async () => {
    const { response, orgId, key } = await failed({ put: "full" });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ hint: expect.stringContaining("in use") });
    await leavesNothing(orgId, key);
  });

  test("because the pool cannot serve the kind repeats the pool's own hint", async () => {
    const { response } = await failed({ put: "unable" });
    expect(await response.json()).toMatchObject({
      code: "AcquireTimeout",
      hint: "Install Chromium.",
    });
  });

  test.each([
    [428, "Playwright 1.10 is not served.\n"],
    [400, '{"error":"no such kind"}'],
    [403, '{"error":"not this one","hint":"Ask another."}'],
    [404, '{"error":"no such profile"}'],
    [418, ""],
    [500, '{"error":"a fault"}'],
    [502, '{"error":"The profile could not be loaded."}'],
  ])(
    "because the pool rejects it with %i forwards status and body, relabelled as JSON",
    async (status, body) => {
      const { response, orgId, key } = await failed({ put: "answer", status: `${status}`, body });
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(body);
      expect(response.headers.get("content-type")).toBe("application/json");
      await leavesNothing(orgId, key);
    },
  );

  test("because every pool has but a hint for the kind repeats it, and asks none of them", async () => {
    await clearFleet();
    const pool = await newPool();
    const none = { idle: 0, busy: 0, recycling: 0 };
    const fast = { ...none, idle: 5 };
    await pool.beat({ kinds: { fast, stealth: { ...none, hint: "Install Xvfb." } } });
    const { key } = await newOrg();
    const init = { method: "POST", body: JSON.stringify({ stealth: true }), bearer: key };
    const response = await hastily("/sessions", init);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "AcquireTimeout", hint: "Install Xvfb." });
    expect(await pool.calls()).toEqual([]);
  });

  test("finds the other pool when the first is gone", async () => {
    await clearFleet();
    const pool = await newPool();
    await pool.beat({
      url: "http://127.0.0.1:1",
      kinds: { fast: { idle: 99, busy: 0, recycling: 0 } },
    });
    await newPool();
    const { key } = await newOrg();
    expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
  });

  test("half way is undone: the object dies, the place is free once the claim has lapsed", async () => {
    await clearFleet();
    const pool = await newPool();
    await pool.steer({ put: "hang" });
    const { key, orgId } = await newOrg("free", { browsers: 1 });
    const create = call("/sessions", { method: "POST", bearer: key });
    const org = env.ORGS.getByName(orgId);
    const all = { limit: 9, cursor: null, status: null };
    const lines = () => org.sessions(all).then((page) => page.lines);
    await vi.waitFor(async () => expect(await lines()).toHaveLength(1), 30_000);
    const stub = env.SESSIONS.getByName((await lines())[0]?.id ?? "");
    await runInDurableObject(stub, (_object, state) => state.abort("test")).catch(() => undefined);
    expect((await create).status).toBe(503);
    await pool.steer({ put: "ok" });
    const again = () => call("/sessions", { method: "POST", bearer: key });
    expect((await again()).status).toBe(429);
    const lapsesAt = await runInDurableObject(org, (_object, { storage }) => {
      const { lapses_at: at } = storage.sql.exec("SELECT lapses_at FROM claims").one();
      storage.sql.exec("UPDATE claims SET lapses_at = ?", Date.now() - 1);
      return Number(at);
    });
    const mostMs = Number(env.SVC_ACQUIRE_TIMEOUT_MS) + LIMITS.unconfirmedSlackMs + LIMITS.unkeptMs;
    expect(lapsesAt - Date.now()).toBeLessThan(mostMs);
    expect(await lines()).toEqual([]);
    expect((await again()).status).toBe(201);
  });

  test("writes nothing of its own", async () => {
    await clearFleet();
    const pool = await newPool();
    await pool.steer({ put: "answer", status: "428" });
    const { key, orgId } = await newOrg("free", { browsers: 1 });
    expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(428);
    const org = env.ORGS.getByName(orgId);
    const page = () => org.sessions({ limit: 9, cursor: null, status: null });
    // Its claim is let go of behind the answer.
    await vi.waitFor(async () => expect((await page()).lines).toEqual([]), 30_000);
    await pool.steer({ put: "ok" });
    expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
  });
});

test("a release while the create still waits wins: nothing is left of it", async () => {
  await clearFleet();
  const pool = await newPool();
  await pool.steer({ put: "full" });
  const { key, orgId } = await newOrg("free", { browsers: 1 });
  const create = call("/sessions", { method: "POST", bearer: key });
  const org = env.ORGS.getByName(orgId);
  const page = () => org.sessions({ limit: 9, cursor: null, status: null });
  await vi.waitFor(async () => expect((await page()).lines).toHaveLength(1), 30_000);
  const id = (await page()).lines[0]?.id ?? "";
  expect((await call(`/sessions/${id}`, { method: "DELETE", bearer: key })).status).toBe(204);
  expect((await create).status).toBe(503);
  expect((await page()).lines).toMatchObject([{ ended: { closeReason: "released" } }]);
});
