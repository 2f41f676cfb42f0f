import { describe, expect, test } from "vitest";
import { step, timers } from "../../../durable-objects/sandbox/transitions.ts";
import type { Running, SandboxState } from "../../../durable-objects/sandbox/state.ts";
import { NO_HABITS } from "../../support/worker/habits.ts";
import { duties } from "../../../durable-objects/sandbox/duties.ts";
import { NO_BILL } from "../../../durable-objects/sandbox/bill.ts";

const DAY = 86_400_000;
const starting: SandboxState = { status: "starting", giveUpAt: 1000, bill: NO_BILL };

function running(onTimeout: Running["onTimeout"] = "kill"): Running {
  const state = step(starting, { type: "placed", idleMs: 5000, onTimeout, habits: NO_HABITS }, 100);
  if (state.status !== "running") throw new Error("not running");
  return state;
}

const spansOf = ({ bill }: SandboxState) =>
  bill.spans.map(({ startedAt, endedAt }) => [startedAt, endedAt]);

test("a create that nobody finished has failed at its time, however late that is noticed", () => {
  expect(step(starting, { type: "tick" }, 999).status).toBe("starting");
  const late = step(
    starting,
    { type: "placed", idleMs: 5000, onTimeout: "kill", habits: NO_HABITS },
    5000,
  );
  expect(late.status).toBe("failed");
});

describe("the idle window", () => {
  test("rolls with activity and never shrinks by older news", () => {
    const used = step(running(), { type: "activity", at: 3000 }, 3000);
    expect(timers(used).window).toBe(8000);
    const older = step(used, { type: "activity", at: 200 }, 3100);
    expect(older).toBe(used);
    const ahead = step(used, { type: "activity", at: 99_000 }, 4000);
    expect(timers(ahead).window).toBe(9000);
  });

  test("set anew begins now, longer or shorter", () => {
    expect(timers(step(running(), { type: "idleSet", idleMs: 1000 }, 200)).window).toBe(1200);
    expect(timers(step(running(), { type: "idleSet", idleMs: 90_000 }, 200)).window).toBe(90_200);
  });

  test("of a machine that should end asks its host first: it ends at its own time, unbilled beyond it", () => {
    const live = running();
    const asked = step(live, { type: "tick" }, 6000);
    expect(asked).toMatchObject({ status: "running", isExpired: true });
    expect(duties(live, asked)).toEqual(["end"]);
    const over = step(asked, { type: "idleEnded" }, 6100);
    expect(over).toMatchObject({ status: "gone", reason: "idle", endedAt: 5100 });
    expect(spansOf(over)).toEqual([[100, 5100]]);
  });

  test("of a machine that its host knows in use goes on, billed all the time", () => {
    for (const onTimeout of ["kill", "pause"] as const) {
      const asked = step(running(onTimeout), { type: "tick" }, 6000);
      const used = step(asked, { type: "activity", at: 5900 }, 6100);
      expect(timers(used).window).toBe(10_900);
      expect(spansOf(used)).toEqual([[100, null]]);
      expect(duties(asked, used)).toEqual([]);
      // And is asked about anew.
      expect(duties(used, step(used, { type: "tick" }, 10_900))).toContain(
        { kill: "end", pause: "pause" }[onTimeout],
      );
    }
  });

  test("of a machine that should end, and whose host cannot be asked, is over 3.5 minutes later", () => {
    expect(step(running(), { type: "tick" }, 5100 + 209_999).status).toBe("running");
    const over = step(running(), { type: "tick" }, 5100 + 210_000);
    expect(over).toMatchObject({ status: "releasing", reason: "idle", endedAt: 215_100 });
    expect(spansOf(over)).toEqual([[100, 5100]]);
  });

  test("of a machine that its host cannot pause is the end of the bill; a use opens another span", () => {
    const asked = step(running("pause"), { type: "tick" }, 6000);
    const kept = step(asked, { type: "notRested" }, 6100);
    expect(kept.status).toBe("running");
    expect(spansOf(kept)).toEqual([[100, 5100]]);
    const again = step(kept, { type: "activity", at: 9000 }, 9000);
    expect(spansOf(again)).toEqual([
      [100, 5100],
      [9000, null],
    ]);
    expect(timers(again).window).toBe(14_000);
  });

  test("that is over and begins anew by a request is not billed in between", () => {
    for (const type of ["looked", "called"] as const) {
      const again = step(running("pause"), { type }, 9000);
      expect(timers(again).window).toBe(14_000);
      expect(spansOf(again)).toEqual([
        [100, 5100],
        [9000, null],
      ]);
    }
  });

  test("is over for one that should pause a day later", () => {
    const over = step(running("pause"), { type: "tick" }, 5100 + DAY);
    expect(over).toMatchObject({ status: "releasing", reason: "idle", endedAt: 5100 + DAY });
    expect(spansOf(over)).toEqual([[100, 5100]]);
  });
});

describe("a host that is away", () => {
  const away = step(running(), { type: "hostAway", seenAt: 2000 }, 4000);

  test("leaves the sandbox running, and unbilled from its last heartbeat on", () => {
    expect(away.status).toBe("running");
    expect(spansOf(away)).toEqual([[100, 2000]]);
    const used = step(away, { type: "activity", at: 4500 }, 4500);
    expect(spansOf(used)).toEqual([[100, 2000]]);
  });

  test("and comes back with it: billed anew from then", () => {
    expect(spansOf(step(away, { type: "hostBack" }, 5000))).toEqual([
      [100, 2000],
      [5000, null],
    ]);
  });

  test("and comes back without it: gone, billed to the last heartbeat", () => {
    const lost = step(running(), { type: "hostLost", seenAt: 2000 }, 4000);
    expect(lost).toMatchObject({ status: "gone", reason: "host_lost" });
    expect(spansOf(lost)).toEqual([[100, 2000]]);
  });

  test("does not hold it beyond its idle window", () => {
    const late = step(away, { type: "tick" }, 5100 + 210_000);
    expect(late).toMatchObject({ status: "releasing", reason: "idle" });
    expect(spansOf(late)).toEqual([[100, 2000]]);
  });

  test("is not asked whether it is in use before it is back", () => {
    const late = step(away, { type: "tick" }, 6000);
    expect(duties(away, late)).toEqual([]);
    expect(duties(late, step(late, { type: "hostBack" }, 7000))).toEqual(["end"]);
  });
});

describe("a paused sandbox", () => {
  const paused = step(running("pause"), { type: "paused", at: 1000, isDurable: false }, 1001);

  test("costs nothing and has no time of its own", () => {
    expect(spansOf(paused)).toEqual([[100, 1000]]);
    expect(timers(paused)).toEqual({});
    expect(step(paused, { type: "activity", at: 2000 }, 2000)).toBe(paused);
    expect(step(paused, { type: "hostAway", seenAt: 5 }, 9_000_000)).toBe(paused);
  });

  test("that is resumed begins a window and a span", () => {
    const again = step(paused, { type: "resumed" }, 70_000);
    expect(again).toMatchObject({ status: "running", expiresAt: 75_000, awaySince: null });
    expect(spansOf(again)).toEqual([
      [100, 1000],
      [70_000, null],
    ]);
  });

  test("is deleted by way of its host, and lost with it", () => {
    expect(step(paused, { type: "delete" }, 5000)).toMatchObject({ status: "releasing" });
    const lost = step(paused, { type: "hostLost", seenAt: 1 }, 5000);
    expect(lost).toMatchObject({ status: "gone", reason: "host_lost" });
    expect(spansOf(lost)).toEqual([[100, 1000]]);
  });

  test("owes index and host; what should pause owes that once its window is over", () => {
    const live = running("pause");
    expect(duties(live, paused)).toEqual(["index", "host", "usage"]);
    expect(duties(paused, step(paused, { type: "resumed" }, 2000))).toEqual([
      "index",
      "host",
      "usage",
    ]);
    expect(duties(live, step(live, { type: "tick" }, 5100))).toEqual(["pause"]);
    const away = step(live, { type: "hostAway", seenAt: 200 }, 5000);
    expect(duties(live, away)).toEqual(["usage"]);
    const back = step(away, { type: "hostBack" }, 6000);
    expect(duties(away, back)).toEqual(["pause"]);
  });
});

describe("a sandbox that is over", () => {
  const released = step(running(), { type: "delete" }, 1000);

  test("is being released until its host lets go of it, at most 30 s", () => {
    expect(released.status).toBe("releasing");
    expect(step(released, { type: "hostFreed" }, 1200).status).toBe("gone");
    expect(step(released, { type: "tick" }, 30_999).status).toBe("releasing");
    expect(step(released, { type: "tick" }, 31_000).status).toBe("gone");
  });

  test("does not come back", () => {
    const gone = step(released, { type: "hostFreed" }, 1200);
    for (const event of [
      { type: "activity", at: 1300 },
      { type: "looked" },
      { type: "called" },
      { type: "idleEnded" },
      { type: "hostBack" },
      { type: "placed", idleMs: 5000, onTimeout: "kill", habits: NO_HABITS },
      { type: "idleSet", idleMs: 5000 },
      { type: "delete" },
      { type: "hostLost", seenAt: 1 },
    ] as const)
      expect(step(gone, event, 1300)).toBe(gone);
  });
});

test("what each change obliges to", () => {
  const live = running();
  const released = step(live, { type: "delete" }, 1000);
  expect(duties(starting, live)).toEqual(["host", "usage"]);
  expect(duties(live, released)).toEqual(["index", "machine", "usage"]);
  expect(duties(released, step(released, { type: "hostFreed" }, 1200))).toEqual([
    "index",
    "host",
    "volumes",
  ]);
  expect(duties(live, step(live, { type: "activity", at: 300 }, 300))).toEqual([]);
  expect(duties(starting, step(starting, { type: "createFailed" }, 5))).toEqual([
    "index",
    "volumes",
  ]);
  expect(duties(live, step(live, { type: "hostAway", seenAt: 5 }, 500))).toEqual(["usage"]);
});

test("spans that were written are forgotten, an open one and a changed one are not", () => {
  const live = running();
  const wrote = { type: "billed", spans: live.bill.spans } as const;
  expect(step(live, wrote, 200)).toBe(live);
  const over = step(live, { type: "delete" }, 1000);
  expect(spansOf(step(over, wrote, 1100))).toEqual([[100, 1000]]);
  const done = step(over, { type: "billed", spans: over.bill.spans }, 1100);
  expect(spansOf(done)).toEqual([]);
});
