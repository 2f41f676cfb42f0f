import type { SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { env } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import type { HostStart } from "../../../durable-objects/host-calls/place.ts";
import type { SessionState } from "../../../durable-objects/session/state.ts";
import { type SessionEvent, step, timers } from "../../../durable-objects/session/transitions.ts";
import { newOrg, newPool, newSession, slotOf } from "../../support/worker/gateway.ts";
import { seededRandom } from "../../support/worker/random.ts";
import { SessionModel } from "../../support/worker/session-model.ts";

type Random = () => number;

afterEach(() => void vi.useRealTimers());

const pick = <T>(random: Random, choices: readonly [T, ...T[]]): T =>
  choices[Math.floor(random() * choices.length)] ?? choices[0];

/** A count of the host, with so many open: newer, the same as one before, or older. */
function anyCount(random: Random, open: number): SessionEvent {
  const closes = pick(random, [0, 1, 2, 3, 4, 5]);
  const lastClose = pick<SlotReport["lastClose"]>(random, ["clean", "dropped", undefined]);
  return { type: "sockets", opens: closes + open, closes, lastClose };
}

/** Any event, whether it fits the state or not. */
function anyEvent(random: Random, now: number): SessionEvent {
  return pick<() => SessionEvent>(random, [
    () => ({
      type: "placed",
      expiresAt: now + 400_000,
      leaseIdleMs: pick(random, [null, null, 90_000]),
    }),
    () => ({ type: "placed", expiresAt: now + 3_000_000, leaseIdleMs: null }),
    () => anyCount(random, 1),
    () => anyCount(random, 2),
    () => anyCount(random, 0),
    () => anyCount(random, 0),
    () => ({ type: "hostAway", seenAt: now }),
    () => ({ type: "attached", opens: pick(random, [1, 2, 3, 4, 5]) }),
    () => ({ type: "hostBack" }),
    () => ({ type: "hostBack" }),
    () => ({ type: "tick" }),
    () => (random() < 0.2 ? { type: "leaseRenewed", idleMs: 60_000 } : { type: "tick" }),
    () => (random() < 0.1 ? { type: "release" } : { type: "tick" }),
    () => (random() < 0.1 ? { type: "createFailed" } : { type: "tick" }),
    () => (random() < 0.1 ? { type: "hostLost", seenAt: now } : { type: "tick" }),
    () =>
      random() < 0.1
        ? { type: "hostEnded", reason: pick(random, ["browser_crashed", "expired", "orphaned"]) }
        : { type: "tick" },
  ])();
}

function statusOf(state: SessionState): string {
  if (state.status === "active") return state.awaySince === null ? "active" : "away";
  return state.status === "released" ? `released ${state.reason}` : state.status;
}

test("5,000 random lives go as the reference model says", () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= 5000; seed += 1) {
    const random = seededRandom(seed);
    const model = new SessionModel(35_000);
    let state: SessionState = { status: "creating", giveUpAt: 35_000 };
    let now = 0;
    for (let n = 0; n < 40; n += 1) {
      now += Math.floor(pick(random, [1, 10, 1500, 3000, 120_000]) * random());
      const event = anyEvent(random, now);
      state = step(state, event, now);
      model.tell(event, now);
      const seen = [statusOf(state), "endedAt" in state ? state.endedAt : null];
      const told = [model.status, model.status === "failed" ? null : model.endedAt];
      expect(seen, `seed ${seed}, event ${n} ${JSON.stringify(event)}`).toEqual(told);
      for (const at of Object.values(timers(state))) expect(at).toBeGreaterThan(now);
      reached.add(model.status);
    }
  }
  // Every state was reached, so that none went untested.
  expect([...reached].toSorted()).toEqual([
    "active",
    "away",
    "creating",
    "expired",
    "failed",
    "released browser_crashed",
    "released client_disconnected",
    "released lease_ended",
    "released orphaned",
    "released pool_lost",
    "released released",
  ]);
});

/** Has the object of a session hear of an event as it would from outside; of some there is no such way. */
async function send(source: HostStart, id: string, event: SessionEvent): Promise<void> {
  const stub = env.SESSIONS.getByName(id);
  switch (event.type) {
    case "sockets": {
      const { opens, closes, lastClose } = event;
      await stub.report(source, slotOf(id, { opens, closes, ...(lastClose && { lastClose }) }));
      return;
    }
    case "hostEnded":
      await stub.report(source, slotOf(id, { ended: event.reason }));
      return;
    case "hostAway":
    case "hostBack":
    case "hostLost":
      return stub.hostChanged(source, { type: event.type, seenAt: Date.now() });
    case "release":
      await stub.release();
      return;
    case "leaseRenewed":
      await stub.renewLease(event.idleMs);
      return;
    case "arriving":
    case "notArrived":
    case "attached":
    case "handoffBegan":
    case "handoffTaken":
    case "handoffEnded":
    case "createFailed":
    case "placed":
    case "tick":
  }
}

test("a session evicted or aborted between any two steps goes the same way", async () => {
  const pool = await newPool();
  const { key } = await newOrg("starter", { browsers: 100 });
  for (let seed = 1; seed <= 15; seed += 1) {
    const random = seededRandom(seed);
    // It has none of the sessions before.
    await pool.beat();
    const id = await newSession(key);
    const { bootId } = await pool.heartbeat();
    const source = { hostId: pool.hostId, bootId };
    const model = new SessionModel(Date.now() + 60_000);
    const tell = (event: SessionEvent) => model.tell(event, Date.now());
    tell({ type: "placed", expiresAt: Date.now() + 3_600_000, leaseIdleMs: null });
    for (let n = 0; n < 8; n += 1) {
      // No time passes until it is looked at, however long that takes here.
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
      const stub = env.SESSIONS.getByName(id);
      const event = anyEvent(random, Date.now());
      // A host that reports a session is back.
      if (event.type === "sockets" || event.type === "hostEnded") tell({ type: "hostBack" });
      // No socket was opened here.
      if (event.type !== "attached") tell(event);
      await send(source, id, event);
      if (random() < 0.5) await evictDurableObject(stub);
      else
        await runInDurableObject(stub, (_object, ctx) => ctx.abort("test")).catch(() => undefined);
      const view = await env.SESSIONS.getByName(id).read();
      const reason = view?.status === "released" ? view.closeReason : null;
      const shown = [view?.status, reason].filter(Boolean).join(" ");
      expect(shown, `seed ${seed}, event ${n} ${JSON.stringify(event)}`).toBe(model.status);
      vi.useRealTimers();
    }
    await env.SESSIONS.getByName(id).release();
  }
});
