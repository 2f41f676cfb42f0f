/**
 * The result of work, or `late` when the work takes longer than `ms`. The work itself goes on; a rejection that comes
 * later is not heard. The timer keeps no process alive.
 */
export async function atMost<Result, Late>(
  ms: number,
  work: Promise<Result>,
  late: Late,
): Promise<Result | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>();
  const timer = setTimeout(() => resolve(late), ms).unref();
  work.catch(() => null);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
