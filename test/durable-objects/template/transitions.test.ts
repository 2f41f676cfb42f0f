import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { describe, expect, test } from "vitest";
import {
  CANCELLED,
  newBuild,
  step,
  strangers,
  type TemplateEvent,
  type TemplateState,
  timers,
} from "../../../durable-objects/template/transitions.ts";
import { duties } from "../../../durable-objects/template/duties.ts";

const START = 1_000_000;
const { hostLostMs, hostWaitMs, buildMs, restarts } = TEMPLATE_LIMITS;

/** What becomes of a build by these events, each so many ms after its beginning. */
const after = (...events: [number, TemplateEvent][]): TemplateState =>
  events.reduce<TemplateState>(
    (state, [ms, event]) => step(state, event, START + ms),
    newBuild(START),
  );

const placed = (host = "a"): TemplateEvent => ({ type: "placed", host });
const built: TemplateEvent = { type: "built", step: 2 };
const broke: TemplateEvent = { type: "broke", step: 2, message: "no" };

test("a build that goes well", () => {
  const state = after([1, placed()], [2, { type: "heard", step: 1 }], [3, built]);
  expect(state).toMatchObject({ status: "ready", host: "a", readyAt: START + 3, step: 2 });
  expect(timers(state)).toEqual({});
});

test("a build that breaks keeps how far it was", () => {
  const state = after([1, placed()], [2, { type: "heard", step: 1 }], [3, broke]);
  const error = { step: 2, message: "no" };
  expect(state).toMatchObject({ status: "failed", step: 1, error, endedAt: START + 3 });
});

describe("times that pass by themselves:", () => {
  test("no host", () => {
    const state = after([hostWaitMs + 5, { type: "tick" }]);
    expect(state).toMatchObject({
      status: "failed",
      error: { message: "No host could take the build." },
      endedAt: START + hostWaitMs,
    });
  });

  test("a host that is not heard for long is left for another one, which begins anew", () => {
    const heard: TemplateEvent = { type: "heard", step: 1 };
    const state = after([1, placed()], [5, heard], [5 + hostLostMs, { type: "tick" }]);
    expect(state).toMatchObject({ status: "building", host: null, restarts: 1, step: 0 });
    expect(step(state, placed("b"), START + 6 + hostLostMs)).toMatchObject({
      host: "b",
      hosts: ["a", "b"],
      takenAt: START + 1,
    });
  });

  test("a host that lost it is tried again only so often", () => {
    const rounds = Array.from({ length: restarts + 1 }, (_none, at): [number, TemplateEvent][] => [
      [2 * at, placed()],
      [2 * at + 1, { type: "forgotten" }],
    ]);
    const last = after(...rounds.flat());
    expect(last).toMatchObject({ status: "failed", error: { message: /lost/ } });
    expect(after(...rounds.slice(1).flat())).toMatchObject({ status: "building", restarts });
  });

  test("one that goes on and on", () => {
    const most = hostWaitMs + buildMs;
    let state = after([1, placed()]);
    for (let ms = 1; ms <= most; ms += hostLostMs / 2)
      state = step(state, { type: "heard", step: 1 }, START + ms);
    const over = step(state, { type: "heard", step: 1 }, START + most + 1);
    expect(over).toMatchObject({ status: "failed", endedAt: START + most });
  });

  test("what is late counts at its own time: a host that was silent is left before it is heard again", () => {
    const state = after([1, placed()], [hostLostMs + 9, built]);
    expect(state).toMatchObject({ status: "building", host: null });
  });
});

test.each<[string, [number, TemplateEvent][]]>([
  ["looked for a host", []],
  ["was placed", [[1, placed()]]],
  [
    "was far",
    [
      [1, placed()],
      [2, { type: "heard", step: 1 }],
    ],
  ],
  [
    "was lost",
    [
      [1, placed()],
      [2, { type: "forgotten" }],
    ],
  ],
])("cancelled when it %s, it is failed, and nothing of a host changes that", (_name, events) => {
  const state = after(...events, [5, { type: "cancel" }]);
  expect(state).toMatchObject({ status: "failed", error: { message: CANCELLED } });
  for (const event of [built, broke, { type: "cancel" }, { type: "forgotten" }] as const)
    expect(step(state, event, START + 9)).toBe(state);
});

test("only what is over is deleted, and that is final", () => {
  expect(after([1, { type: "delete" }]).status).toBe("building");
  const state = after([1, placed()], [2, built], [3, { type: "delete" }]);
  expect(state.status).toBe("deleted");
  for (const event of [built, broke, { type: "cancel" }, { type: "delete" }] as const)
    expect(step(state, event, START + 9)).toBe(state);
});

test("every host but the one that has it is to let go of it; of a deleted one all are", () => {
  const moved = after([1, placed("a")], [2, { type: "forgotten" }], [3, placed("b")], [4, built]);
  expect(strangers(moved)).toEqual(["a"]);
  expect(strangers(step(moved, { type: "released", host: "a" }, START + 5))).toEqual([]);
  expect(strangers(step(moved, { type: "delete" }, START + 5))).toEqual(["a", "b"]);
  expect(strangers(after([1, placed()], [2, { type: "cancel" }]))).toEqual(["a"]);
});

test("what a change obliges to", () => {
  const begun = newBuild(START);
  const taken = after([1, placed()]);
  expect(duties(begun, taken)).toEqual([]);
  expect(duties(taken, after([1, placed()], [2, built]))).toEqual([
    "row",
    "claim",
    "hosts",
    "usage",
  ]);
  expect(duties(begun, after([1, { type: "cancel" }]))).toEqual(["row", "claim", "hosts"]);
  const ready = after([1, placed()], [2, built]);
  expect(duties(ready, step(ready, { type: "delete" }, START + 3))).toEqual(["row", "hosts"]);
});

test("a host that was asked while it was cancelled is to let go of it, and is told once more", () => {
  const cancelled = after([1, { type: "asked", host: "a" }], [2, { type: "cancel" }]);
  expect(strangers(cancelled)).toEqual(["a"]);
  const told = step(cancelled, { type: "released", host: "a" }, START + 3);
  expect(duties(cancelled, told)).toEqual([]);
  const late = step(told, { type: "asked", host: "a" }, START + 4);
  expect([strangers(late), duties(told, late)]).toEqual([["a"], ["hosts"]]);
});
