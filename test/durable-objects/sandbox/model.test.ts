import { expect, test } from "vitest";
import { step, timers } from "../../../durable-objects/sandbox/transitions.ts";
import type { SandboxEvent, SandboxState } from "../../../durable-objects/sandbox/state.ts";
import {
  parkedSince,
  wantsCheckpoint,
  wantsEnd,
  wantsPause,
} from "../../../durable-objects/sandbox/duties.ts";
import { NO_BILL, type Span } from "../../../durable-objects/sandbox/bill.ts";
import { seededRandom } from "../../support/worker/random.ts";
import { SandboxModel } from "../../support/worker/sandbox-model.ts";

type Random = () => number;

const pick = <T>(random: Random, choices: readonly [T, ...T[]]): T =>
  choices[Math.floor(random() * choices.length)] ?? choices[0];

/** Any event, whether it fits the state or not. */
function anyEvent(random: Random, now: number): SandboxEvent {
  const rarely = (event: SandboxEvent): SandboxEvent => (random() < 0.1 ? event : { type: "tick" });
  return pick<() => SandboxEvent>(random, [
    () => ({
      type: "placed",
      idleMs: pick(random, [5000, 60_000, 7_200_000]),
      onTimeout: pick(random, ["kill", "pause"]),
      habits: {
        parkAfterMs: pick(random, [null, 2000, 5000]),
        hibernateAfterParkedMs: pick(random, [null, 2000, 40_000]),
        checkpointEveryMs: pick(random, [null, 60_000]),
      },
    }),
    () => ({ type: "activity", at: now + pick(random, [0, -3000, -100_000, 50_000]) }),
    () => ({ type: "activity", at: now, isParked: true }),
    () => ({ type: "called" }),
    () => ({ type: "looked" }),
    () => ({ type: "notRested" }),
    () => rarely({ type: "idleEnded" }),
    () => ({ type: "idleSet", idleMs: pick(random, [1000, 90_000]) }),
    () => ({ type: "hostAway", seenAt: now - pick(random, [0, 15_000]) }),
    () => ({ type: "hostBack" }),
    () => ({ type: "hostBack" }),
    () => ({ type: "hostFreed" }),
    () => ({ type: "paused", at: now - pick(random, [0, 4000]), isDurable: random() < 0.5 }),
    () => ({
      type: "checkpointed",
      at: now - pick(random, [0, 90_000]),
      isDurable: random() < 0.3,
    }),
    () => rarely({ type: "stored" }),
    () => rarely({ type: "reverted", at: now }),
    () => ({ type: "resumed" }),
    () => ({ type: "tick" }),
    () => rarely({ type: "createFailed" }),
    () => rarely({ type: "delete" }),
    () => rarely({ type: "hostEnded" }),
    () => rarely({ type: "hostLost", seenAt: now - 10_000 }),
  ])();
}

const statusOf = (state: SandboxState): string =>
  "reason" in state ? `${state.status} ${state.reason}` : state.status;

/** What the state asks of the machine now. */
const askedOf = (state: SandboxState): string[] => [
  ...(wantsPause(state) ? ["pause"] : []),
  ...(wantsEnd(state) ? ["end"] : []),
  ...(parkedSince(state) === null ? [] : ["park"]),
  ...(wantsCheckpoint(state) ? ["checkpoint"] : []),
];

test("5,000 random lives go as the reference model says, and are billed as it says", () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= 5000; seed += 1) {
    const random = seededRandom(seed);
    const model = new SandboxModel(35_000);
    const written = new Map<number, Span>();
    let state: SandboxState = { status: "starting", giveUpAt: 35_000, bill: NO_BILL };
    let now = 0;
    for (let n = 0; n < 40; n += 1) {
      const stride = Math.floor(pick(random, [1, 1500, 3000, 120_000, 50_000_000]) * random());
      // Now and then to just behind what happens next by itself.
      const next = Math.min(...Object.values(timers(state)));
      const isToNext = random() < 0.1 && Number.isFinite(next);
      now = isToNext ? next + Math.floor(1500 * random()) : now + stride;
      const event = anyEvent(random, now);
      state = step(state, event, now);
      model.tell(event, now);
      const open = state.bill.spans.filter(({ endedAt }) => endedAt === null);
      for (const span of state.bill.spans) written.set(span.n, span);
      const bill = [...written.values()].map(({ startedAt: from, endedAt: to }) => ({ from, to }));
      const seen = { status: statusOf(state), bill, asked: askedOf(state) };
      const told = { status: model.status, bill: model.bill, asked: model.asked };
      expect(seen, `seed ${seed}, event ${n} ${JSON.stringify(event)}`).toEqual(told);
      for (const time of Object.values(timers(state))) expect(time).toBeGreaterThan(now);
      expect(open.length).toBeLessThanOrEqual(state.status === "running" ? 1 : 0);
      reached.add(model.status);
      for (const act of model.asked) reached.add(`to ${act}`);
      // Written now and then, as the database is up or down.
      const { spans } = state.bill;
      if (random() < 0.5) state = step(state, { type: "billed", spans }, now);
    }
  }
  // Every state was reached, so that none went untested.
  expect([...reached].toSorted()).toEqual([
    "failed",
    "gone deleted",
    "gone host_lost",
    "gone idle",
    "gone machine_died",
    "paused",
    "releasing deleted",
    "releasing idle",
    "running",
    "starting",
    "to checkpoint",
    "to end",
    "to park",
    "to pause",
  ]);
});
