import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { backoffMs } from "../../host-kit/backoff.ts";
import { LATE, inTime } from "../../host-kit/deadline.ts";

describe("backoffMs", () => {
  test("doubles with each failure up to its most", () => {
    const waits = [1, 2, 3, 4, 5, 2_000].map((failures) =>
      backoffMs(failures, { firstMs: 100, mostMs: 1_000 }),
    );
    expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });
});

describe("inTime", () => {
  const never = new Promise<string>(() => {});

  test("gives the result of work that is in time", async () => {
    expect(await inTime(Promise.resolve("done"), 60_000)).toBe("done");
  });

  test("gives LATE when the work is not in time", async () => {
    expect(await inTime(never, 1)).toBe(LATE);
  });

  test("rejects as the work does", async () => {
    await expect(inTime(Promise.reject(new Error("no")), 60_000)).rejects.toThrow("no");
  });

  test("a rejection after the time is not heard", async () => {
    const work = Promise.withResolvers<never>();
    expect(await inTime(work.promise, 1)).toBe(LATE);
    work.reject(new Error("nobody hears this"));
    // An unheard rejection would fail this file.
    await pause(0);
  });
});
