export const DEFAULT_N = 30;
/** Rounds that come first and do not count. */
export const WARM_UP = 3;
/** Browsers that a pool keeps ready between trials. */
export const WARM = 2;

/** Has each contestant take its turn in `n` rounds after the warm-up. Each round begins with another one: nobody always follows the same. */
export async function inRounds<One>(
  contestants: One[],
  n: number,
  turn: (who: One, counts: boolean) => Promise<void>,
): Promise<void> {
  for (let round = -WARM_UP; round < n; round += 1) {
    const at = (round + WARM_UP) % contestants.length;
    for (const who of [...contestants.slice(at), ...contestants.slice(0, at)])
      await turn(who, round >= 0);
  }
}
