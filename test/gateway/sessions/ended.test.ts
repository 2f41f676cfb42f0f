import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type SessionRecord, SessionList } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { PlanOverrides } from "@svc/contract/plans.ts";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  call,
  clearFleet,
  newOrg,
  newPool,
  newSession,
  slotOf,
} from "../../support/worker/gateway.ts";
import { hang } from "../../support/worker/hanging.ts";
import { placed, stored } from "../../support/worker/session.ts";

const HOUR = 3_600_000;

afterEach(() => void vi.useRealTimers());

/** Sets the clock to so long from now. */
const setClock = (ms: number) => {
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
};

/** A session that a client uses, and all that its create owes is done. */
async function inUse(overrides: PlanOverrides) {
  const all = await placed(overrides);
  await all.pool.beat({ slots: [slotOf(all.id, { opens: 1 })] });
  await settled(all.stub, false);
  return all;
}

async function list(key: string, query = ""): Promise<SessionRecord[]> {
  const response = await call(`/sessions${query}`, { bearer: key });
  return SessionList.parse(await response.json()).sessions;
}
const get = async (key: string, id: string): Promise<unknown> =>
  (await call(`/sessions/${id}`, { bearer: key })).json();

/** The record of the only session of an org, which its list and its own path agree on. */
async function agreed(key: string, id: string): Promise<unknown> {
  const record = await get(key, id);
  expect(await list(key)).toEqual([record]);
  return record;
}

/** Lets the object of an ended session do all it owes, and what else its alarm brings. */
async function settled(stub: Parameters<typeof stored>[0], isErased: boolean): Promise<void> {
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(stub);
    const session = await stored(stub);
    expect(session ? session.owed : null).toEqual(isErased ? null : []);
  }, 30_000);
}

describe("an ended session keeps its status and its times", () => {
  test.each(["expired", "released"] as const)(
    "%s: though a clock that ran ahead has erased its object",
    async (status) => {
      const { key, id, stub } = await inUse({ sessionMinutes: 30 });
      if (status === "released") await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
      else setClock(HOUR);
      const record = await agreed(key, id);
      expect(record).toMatchObject({ status, closeReason: status, kind: "fast" });
      await settled(stub, false);
      setClock(LIMITS.endedListedMs + HOUR);
      await settled(stub, true);
      vi.useRealTimers();
      expect(await agreed(key, id)).toEqual(record);
    },
  );

  test("for 30 days, to the last hour", async () => {
    const { key, id, stub } = await inUse({ sessionMinutes: 30 });
    setClock(HOUR);
    const record = await agreed(key, id);
    await settled(stub, false);
    setClock(LIMITS.endedListedMs - HOUR);
    await settled(stub, false);
    expect(await agreed(key, id)).toEqual(record);
  });

  test("though the clock is set back behind its end", async () => {
    const { key, id, stub } = await inUse({ sessionMinutes: 30 });
    setClock(HOUR);
    const record = await agreed(key, id);
    await settled(stub, false);
    setClock(-HOUR);
    expect(await agreed(key, id)).toEqual(record);
    await settled(stub, false);
    expect(await agreed(key, id)).toEqual(record);
  });
});

test("a session that lives is active, though a clock that ran ahead has freed its place", async () => {
  const { key, id } = await inUse({ browsers: 1 });
  setClock(24 * HOUR);
  // Asks for the only place.
  await call("/sessions", { method: "POST", bearer: key, body: '{"stealth":true}' });
  vi.useRealTimers();
  expect(await agreed(key, id)).toMatchObject({ status: "active" });
  expect((await list(key, "?status=active")).map((record) => record.id)).toEqual([id]);
  await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
  expect(await agreed(key, id)).toMatchObject({ status: "released", closeReason: "released" });
});

describe("a create that failed is not active", () => {
  test("because its object died while a pool was at work on it, and its place is free soon", async () => {
    await clearFleet();
    const pool = await newPool();
    await pool.steer({ put: "hang" });
    const { key, orgId } = await newOrg("free", { browsers: 1 });
    const creating = call("/sessions", { method: "POST", bearer: key });
    const id = await vi.waitFor(async () => {
      const [record] = await list(key);
      if (!record) throw new Error("not yet");
      return record.id;
    }, 30_000);
    const stub = env.SESSIONS.getByName(id);
    await vi.waitFor(async () => expect(await stored(stub)).toBeDefined(), 30_000);
    await runInDurableObject(stub, (_object, { storage }) => storage.sync());
    await runInDurableObject(stub, (_object, state) => state.abort("test")).catch(() => undefined);
    expect((await creating).status).toBe(503);
    expect(await get(key, id)).toMatchObject({ status: "released" });
    expect(await list(key)).toEqual([]);
    await pool.steer({ put: "ok" });
    const org = env.ORGS.getByName(orgId);
    await vi.waitFor(async () => expect(await org.session(id)).toBeNull(), 30_000);
    expect(await newSession(key)).not.toBe(id);
  });

  test("while its object hangs: the list is answered in time, and names it unknown", async () => {
    const { key, id, stub } = await placed();
    await hang(stub);
    const begun = performance.now();
    expect(await list(key)).toMatchObject([{ id, status: "unknown", kind: null }]);
    expect(await list(key, "?status=active")).toEqual([]);
    expect(performance.now() - begun).toBeLessThan(3 * LIMITS.objectCallMs);
  });
});
