/** As many as D1 binds in one statement. */
export const BATCH = 100;
const MOST_BATCHES = 100;

/** Reaps batch by batch until one is not full, or the work is enough for one run of the cron. Answers how many were reaped. */
export async function inBatches(reapSome: () => Promise<number>): Promise<number> {
  let reaped = 0;
  for (let n = 0; n < MOST_BATCHES; n += 1) {
    const some = await reapSome();
    reaped += some;
    if (some < BATCH) break;
  }
  return reaped;
}
