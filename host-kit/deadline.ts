import { setTimeout as pause } from "node:timers/promises";

export const LATE: unique symbol = Symbol("late");

/** The result of a work, or `LATE` after this many ms; what becomes of the work then is of no interest. */
export function inTime<Result>(work: Promise<Result>, ms: number): Promise<Result | typeof LATE> {
  work.catch(() => null);
  return Promise.race([work, pause(ms, LATE, { ref: false })]);
}

/** Does a work for each item, `atOnce` at a time, and begins none after this many ms. Returns by then. */
export async function eachUntil<Item>(
  items: Item[],
  { limitMs, atOnce }: { limitMs: number; atOnce: number },
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const until = performance.now() + limitMs;
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) {
      if (performance.now() >= until) return;
      await work(item);
    }
  };
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, limitMs);
  await Promise.race([Promise.all(Array.from({ length: atOnce }, worker)), late.promise]);
  clearTimeout(timer);
}
