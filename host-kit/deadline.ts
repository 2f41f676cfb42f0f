/** The result of work that took too long. */
export const LATE: unique symbol = Symbol("late");

/**
 * The result of work, or `LATE` when the work takes longer than `ms`. The work itself goes on; a rejection that comes
 * later is not heard. The timer keeps no process alive.
 */
export async function inTime<Result>(
  work: Promise<Result>,
  ms: number,
): Promise<Result | typeof LATE> {
  const late = Promise.withResolvers<typeof LATE>();
  const timer = setTimeout(() => late.resolve(LATE), ms).unref();
  work.catch(() => null);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Works for each item, `atOnce` at a time, and begins none after `limitMs`. Returns by then; begun work goes on. */
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
  try {
    await Promise.race([Promise.all(Array.from({ length: atOnce }, worker)), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
