/**
 * Runs work that is aborted after `ms`. Not AbortSignal.timeout: its timer lives on after the work,
 * which cuts a socket that was opened in time and keeps the object in memory.
 */
export async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ms);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** The result of work that cannot be aborted, or a rejection after `ms`. The work itself goes on. */
export async function atMost<P>(ms: number, work: P): Promise<Awaited<P>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
