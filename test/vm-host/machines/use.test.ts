import { setTimeout as pause } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { Busy, unusedCheck } from "../../../vm-host/machines/state-error.ts";
import { hostNowMs, MachineUse } from "../../../vm-host/machines/use.ts";

test("a use is over at once, work in flight at its end: until then the last use is now", async () => {
  const use = new MachineUse();
  const over = use.begin();
  await pause(30);
  expect(use.unusedMs).toBe(0);
  const before = hostNowMs();
  expect(use.lastAt).toBeGreaterThanOrEqual(before);
  over();
  const endedAt = use.lastAt;
  await pause(30);
  expect(use.lastAt).toBe(endedAt);
  expect(use.unusedMs).toBeGreaterThanOrEqual(25);
});

test("a machine in use is that also where the host stands still while it looks at the clock", () => {
  const use = new MachineUse();
  const over = use.begin();
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 60_000));
  try {
    expect(use.unusedMs).toBe(0);
    expect(unusedCheck({ use }, 10_000)).toThrow(Busy);
  } finally {
    clock.mockRestore();
  }
  over();
});

test("several works in flight are in use until the last of them ends, each of which ends once", async () => {
  const use = new MachineUse();
  const [first, second] = [use.begin(), use.begin()];
  first();
  first();
  await pause(20);
  expect(use.unusedMs).toBe(0);
  second();
  await pause(20);
  expect(use.unusedMs).toBeGreaterThan(0);
});

test("each use is told and counted, the end of work too, so that none in between goes unseen", () => {
  const told = vi.fn<() => void>();
  const use = new MachineUse(told);
  use.note();
  const over = use.begin();
  expect([told.mock.calls.length, use.count]).toEqual([2, 2]);
  // An end wakes nothing, but is a newer use than what was seen before it.
  over();
  expect([told.mock.calls.length, use.count]).toEqual([2, 3]);
});

test("the clock of the computer, which somebody sets, changes nothing", () => {
  const use = new MachineUse();
  vi.useFakeTimers({ toFake: ["Date"], now: 0 });
  try {
    expect(use.unusedMs).toBeLessThan(10_000);
    vi.setSystemTime(Date.UTC(2100, 0));
    expect(use.unusedMs).toBeLessThan(10_000);
  } finally {
    vi.useRealTimers();
  }
});

test("a rest is refused with the age of the last use; an order of the customer never", async () => {
  const use = new MachineUse();
  const over = use.begin();
  expect(unusedCheck({ use }, 1)).toThrow(Busy);
  expect(unusedCheck({ use }, undefined)).not.toThrow();
  over();
  await pause(30);
  const check = unusedCheck({ use }, 20);
  expect(check).not.toThrow();
  // A use that is as old as it may be, but came after the rest was begun.
  use.note();
  await pause(30);
  expect(check).toThrow(Busy);
  const refused = new Busy(7).body;
  expect(refused).toMatchObject({ code: "Busy", unusedMs: 7, retryable: false });
});
