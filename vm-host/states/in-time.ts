const AT_ONCE = 2;

/** Does a work for each, a few at a time and in turn, as many as the time allows. Returns when it is over. */
export async function inTime<Item>(
  items: Item[],
  limitMs: number,
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
  await Promise.race([Promise.all(Array.from({ length: AT_ONCE }, worker)), late.promise]);
  clearTimeout(timer);
}
