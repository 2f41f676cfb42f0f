import { describe, expect, test } from "vitest";
import { step, timers } from "../../../durable-objects/sandbox/transitions.ts";
import { duties } from "../../../durable-objects/sandbox/duties.ts";
import type { Habits } from "../../../durable-objects/sandbox/lifecycle.ts";
import type {
  Running,
  SandboxEvent,
  SandboxState,
} from "../../../durable-objects/sandbox/state.ts";
import { NO_BILL } from "../../../durable-objects/sandbox/bill.ts";
import { NO_HABITS } from "../../support/worker/habits.ts";

const HOUR = 3_600_000;

/** A machine that runs since 100 and may be idle for an hour. */
function running(habits: Partial<Habits>): Running {
  const starting: SandboxState = { status: "starting", giveUpAt: 1000, bill: NO_BILL };
  const wanted = { ...NO_HABITS, ...habits };
  const placed = { type: "placed", idleMs: HOUR, onTimeout: "pause", habits: wanted } as const;
  return run(step(starting, placed, 100));
}

function run(state: SandboxState): Running {
  if (state.status !== "running") throw new Error(`it is ${state.status}`);
  return state;
}

const tick = (state: SandboxState, now: number) => step(state, { type: "tick" }, now);
const use = (at: number): SandboxEvent => ({ type: "activity", at });

describe("parkAfterMs", () => {
  const fresh = running({ parkAfterMs: 2000 });

  test("of no use asks for a park, and no state is reported", () => {
    expect(timers(fresh).park).toBe(2100);
    const parked = run(tick(fresh, 5000));
    expect(parked.parkedAt).toBe(2100);
    expect(duties(fresh, parked)).toEqual(["park"]);
    expect(timers(parked)).toEqual({ window: 100 + HOUR, idle: 100 + 25 * HOUR });
    // Billed on: its place, network and channel are held.
    expect(parked.bill.spans).toEqual([{ n: 1, startedAt: 100, endedAt: null }]);
  });

  test("begins anew with each use, and asks anew", () => {
    const parked = tick(fresh, 5000);
    const used = run(step(parked, use(6000), 6000));
    expect(used.parkedAt).toBeNull();
    expect(timers(used).park).toBe(8000);
    expect(duties(used, tick(used, 8000))).toEqual(["park"]);
    // Used and left alone in between two looks.
    const again = step(parked, use(6000), 9000);
    expect(duties(parked, again)).toEqual(["park"]);
  });

  test("waits for a host that is away", () => {
    const away = step(fresh, { type: "hostAway", seenAt: 200 }, 300);
    const late = tick(away, 5000);
    expect(duties(away, late)).toEqual([]);
    expect(duties(late, step(late, { type: "hostBack" }, 6000))).toContain("park");
  });
});

describe("hibernateAfterParkedMs", () => {
  const fresh = running({ parkAfterMs: 2000, hibernateAfterParkedMs: 10_000 });

  test("of being parked asks for a pause; the bill runs until it is one", () => {
    const parked = tick(fresh, 3000);
    expect(timers(parked).hibernate).toBe(12_100);
    const sleepy = tick(parked, 20_000);
    expect(sleepy.status).toBe("running");
    expect(duties(parked, sleepy)).toEqual(["pause"]);
    const paused = step(sleepy, { type: "paused", at: 20_500, isDurable: false }, 20_501);
    expect(paused).toMatchObject({ status: "paused" });
    expect(paused.bill.spans).toEqual([{ n: 1, startedAt: 100, endedAt: 20_500 }]);
  });

  test("is nothing without a park, and over with a use", () => {
    expect(timers(running({ hibernateAfterParkedMs: 10_000 })).hibernate).toBeUndefined();
    const sleepy = tick(fresh, 20_000);
    expect(run(step(sleepy, use(20_001), 20_001))).toMatchObject({
      parkedAt: null,
      isToSleep: false,
    });
  });

  test("is there again when it is resumed", () => {
    const sleepy = tick(fresh, 20_000);
    const paused = step(sleepy, { type: "paused", at: 20_500, isDurable: false }, 20_501);
    const again = step(paused, { type: "resumed" }, 30_000);
    expect(timers(again).park).toBe(32_000);
  });
});

describe("checkpointEveryMs", () => {
  const fresh = running({ checkpointEveryMs: 60_000 });
  const checkpointed = (at: number, isDurable = false) =>
    ({ type: "checkpointed", at, isDurable }) as const;

  test("asks for one at each interval, once", () => {
    expect(timers(fresh).checkpoint).toBe(60_100);
    const due = tick(fresh, 60_100);
    expect(duties(fresh, due)).toEqual(["checkpoint"]);
    expect(timers(due).checkpoint).toBeUndefined();
    expect(duties(due, tick(due, 500_000))).toEqual([]);
    const saved = step(due, checkpointed(61_000), 61_500);
    expect(timers(saved).checkpoint).toBe(121_000);
  });

  test("asks for none of one that is parked and has not changed since", () => {
    const parks = running({ checkpointEveryMs: 60_000, parkAfterMs: 2000 });
    const saved = step(tick(parks, 60_100), checkpointed(61_000), 61_000);
    expect(timers(saved).checkpoint).toBeUndefined();
    const used = step(saved, use(400_000), 400_000);
    expect(timers(used).checkpoint).toBe(460_000);
  });

  test("keeps one whose host comes back without it, if any host can go on from it", () => {
    const lost = { type: "hostLost", seenAt: 90_000 } as const;
    const local = step(fresh, checkpointed(61_000), 61_000);
    expect(step(local, lost, 95_000)).toMatchObject({ status: "gone", reason: "host_lost" });
    const stored = step(local, { type: "stored" }, 62_000);
    const paused = step(stored, lost, 95_000);
    expect(paused).toMatchObject({ status: "paused", isDurable: true });
    expect(paused.bill.spans).toEqual([{ n: 1, startedAt: 100, endedAt: 90_000 }]);
    expect(duties(stored, paused)).toEqual(["index", "host", "usage"]);
    // And its record outlives another loss.
    expect(step(paused, lost, 99_000)).toBe(paused);
  });

  test("lets one go on whose host stays away for 3.5 minutes, if any host can", () => {
    const saved = step(fresh, checkpointed(61_000, true), 61_000);
    const away = step(saved, { type: "hostAway", seenAt: 70_000 }, 85_000);
    expect(timers(away).lost).toBe(280_000);
    expect(step(away, { type: "hostBack" }, 279_999).status).toBe("running");
    expect(tick(away, 280_000)).toMatchObject({ status: "paused", isDurable: true });
    const local = step(
      step(fresh, checkpointed(61_000), 61_000),
      { type: "hostAway", seenAt: 1 },
      85_000,
    );
    expect(timers(local).lost).toBeUndefined();
  });

  test("of before a resume or a revert is of no use", () => {
    const saved = step(fresh, checkpointed(61_000, true), 61_000);
    const reverted = run(step(saved, { type: "reverted", at: 70_000 }, 70_000));
    expect(reverted).toMatchObject({ checkpoint: null, checkpointDueAt: 130_000 });
    const paused = step(saved, { type: "paused", at: 70_000, isDurable: false }, 70_000);
    const again = run(step(paused, { type: "resumed" }, 80_000));
    expect(again).toMatchObject({ checkpoint: null, checkpointDueAt: 140_000 });
  });
});

test("a paused one whose record reaches the object store outlives its host", () => {
  const paused = step(running({}), { type: "paused", at: 1000, isDurable: false }, 1000);
  const lost = { type: "hostLost", seenAt: 1 } as const;
  expect(step(paused, lost, 2000).status).toBe("gone");
  const stored = step(paused, { type: "stored" }, 1500);
  expect(step(stored, lost, 2000)).toBe(stored);
});
