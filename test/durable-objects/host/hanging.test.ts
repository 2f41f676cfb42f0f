import { env } from "cloudflare:workers";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, test, vi } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import type { StoredHost } from "../../../durable-objects/host/reconcile.ts";
import {
  clearFleet,
  newOrg,
  newPool,
  newSession,
  type Pool,
  slotOf,
} from "../../support/worker/gateway.ts";
import { hang } from "../../support/worker/hanging.ts";

/** Two sessions on one pool, both reported; the object of the first can be made to hang. */
async function placed() {
  await clearFleet();
  const pool = await newPool();
  const { key } = await newOrg();
  const [stuck, lively] = [await newSession(key), await newSession(key)];
  await pool.beat({ slots: [slotOf(stuck), slotOf(lively)] });
  return { pool, stuck, lively, host: env.HOSTS.getByName(pool.hostId) };
}

const view = (id: string) => env.SESSIONS.getByName(id).read();
const known = async () => (await fleet(env).list()).map(({ hostId }) => hostId);

/** Sends a heartbeat as a host does, which waits for its answer no longer than this. */
async function beatInTime(pool: Pool, facts: Parameters<Pool["beat"]>[0]) {
  const begun = performance.now();
  const reply = await pool.beat(facts);
  expect(performance.now() - begun).toBeLessThan(LIMITS.heartbeatAnswerMs);
  return reply;
}

describe("while the object of a session hangs", () => {
  test("the heartbeat of its host is answered in time, with what to end, and all others are told", async () => {
    const { pool, stuck, lively } = await placed();
    await hang(env.SESSIONS.getByName(stuck));
    const crashed = { ended: "browser_crashed" };
    const slots = [slotOf(stuck, crashed), slotOf(lively, crashed), slotOf("stranger")];
    const reply = await beatInTime(pool, { slots });
    expect(reply.end).toEqual([lively, "stranger"]);
    expect((await view(lively))?.closeReason).toBe("browser_crashed");
  });

  test("its report is asked for again until it is taken", async () => {
    const { pool, stuck } = await placed();
    const goOn = await hang(env.SESSIONS.getByName(stuck));
    const slots = [slotOf(stuck, { ended: "browser_crashed" })];
    for (let beats = 0; beats < 3; beats += 1) {
      const reply = await beatInTime(pool, { slots });
      expect(reply).toEqual({ end: [], again: [stuck], pollMs: LIMITS.heartbeatAgainMs });
    }
    await goOn();
    await vi.waitFor(async () => {
      expect((await pool.beat({ slots })).again).toBeUndefined();
    }, 30_000);
    expect((await view(stuck))?.closeReason).toBe("browser_crashed");
  });

  test("a loss that it could not hear of is told by a later heartbeat", async () => {
    const { pool, stuck, lively } = await placed();
    const goOn = await hang(env.SESSIONS.getByName(stuck));
    const reply = await beatInTime(pool, { slots: [] });
    expect(reply).toEqual({ end: [], pollMs: LIMITS.heartbeatAgainMs });
    expect((await view(lively))?.closeReason).toBe("pool_lost");
    await goOn();
    await vi.waitFor(async () => {
      expect((await pool.beat({ slots: [] })).pollMs).toBe(LIMITS.heartbeatMs);
    }, 30_000);
    expect((await view(stuck))?.closeReason).toBe("pool_lost");
  });

  test("the silence of its host is noticed, and told to all others at once and to it once it goes on", async () => {
    const { pool, stuck, lively, host } = await placed();
    const goOn = await hang(env.SESSIONS.getByName(stuck));
    await runInDurableObject(host, async (_object, { storage }) => {
      const stored = storage.kv.get<StoredHost>("host");
      if (!stored) throw new Error("no host");
      storage.kv.put("host", { ...stored, seenAt: Date.now() - LIMITS.hostSilenceMs });
      await storage.setAlarm(Date.now() + 60_000);
    });
    await runDurableObjectAlarm(host);
    expect(await known()).not.toContain(pool.hostId);
    expect((await view(lively))?.status).toBe("away");
    await goOn();
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(host);
      expect((await view(stuck))?.status).toBe("away");
    }, 30_000);
  });
});

test("while the registry hangs a heartbeat is answered in time and its sessions are told", async () => {
  const { pool, stuck } = await placed();
  const goOn = await hang(env.FLEET.getByName("fleet"));
  const reply = await beatInTime(pool, {
    kinds: { fast: { idle: 1, busy: 0, recycling: 0 } },
    slots: [slotOf(stuck, { ended: "browser_crashed" })],
  });
  expect(reply.end).toEqual([stuck]);
  expect((await view(stuck))?.closeReason).toBe("browser_crashed");
  await goOn();
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(env.HOSTS.getByName(pool.hostId));
    const record = (await fleet(env).list()).find(({ hostId }) => hostId === pool.hostId);
    expect(record?.kinds?.fast?.idle).toBe(1);
  }, 30_000);
});
