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

/** Resolves when `event` does, or after `ms`. */
export async function eventOrTimeout(event: Promise<void>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([event, timeUp]);
  clearTimeout(timer);
}
