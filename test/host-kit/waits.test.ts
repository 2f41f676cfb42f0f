import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { atMost } from "../../host-kit/at-most.ts";
import { backoffMs } from "../../host-kit/backoff.ts";

describe("backoffMs", () => {
  test("doubles with each failure up to its most", () => {
    const waits = [1, 2, 3, 4, 5, 2_000].map((failures) =>
      backoffMs(failures, { firstMs: 100, mostMs: 1_000 }),
    );
    expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });
});

describe("atMost", () => {
  const never = new Promise<string>(() => {});

  test("gives the result of work that is in time", async () => {
    expect(await atMost(60_000, Promise.resolve("done"), "late")).toBe("done");
  });

  test("gives `late` when the work is not in time", async () => {
    expect(await atMost(1, never, "late")).toBe("late");
  });

  test("rejects as the work does", async () => {
    await expect(atMost(60_000, Promise.reject(new Error("no")), "late")).rejects.toThrow("no");
  });

  test("a rejection after the time is not heard", async () => {
    const work = Promise.withResolvers<never>();
    expect(await atMost(1, work.promise, "late")).toBe("late");
    work.reject(new Error("nobody hears this"));
    // An unheard rejection would fail this file.
    await pause(0);
  });
});
