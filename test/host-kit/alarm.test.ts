import { setAlarm } from "@svc/host-kit/alarm.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const DAY_MS = 86_400_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("an alarm a hundred days ahead rings then and not before", () => {
  const ring = vi.fn<() => void>();
  setAlarm(Date.now() + 100 * DAY_MS, ring);
  vi.advanceTimersByTime(100 * DAY_MS - 1);
  expect(ring).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledOnce();
});

test("an alarm in the past rings at once", () => {
  const ring = vi.fn<() => void>();
  setAlarm(Date.now() - 1, ring);
  vi.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledOnce();
});

test("a cancelled alarm does not ring, also after its first leg", () => {
  const ring = vi.fn<() => void>();
  const cancel = setAlarm(Date.now() + 60 * DAY_MS, ring);
  vi.advanceTimersByTime(30 * DAY_MS);
  cancel();
  vi.advanceTimersByTime(60 * DAY_MS);
  expect(ring).not.toHaveBeenCalled();
});
