/** Numbers of [0, 1) that come again with the same seed. */
export type Random = () => number;

/** mulberry32. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(random: Random, list: readonly T[]): T | undefined {
  return list[Math.floor(random() * list.length)];
}

/** One of the names, each with the chance of its weight. */
export function pickWeighted<Name extends string>(
  random: Random,
  weights: Record<Name, number>,
): Name {
  const entries = Object.entries(weights) as [Name, number][];
  const [first] = entries;
  if (!first) throw new Error("nothing to pick from");
  let at = random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of entries) {
    at -= weight;
    if (at < 0) return name;
  }
  return first[0];
}
