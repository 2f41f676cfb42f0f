import { TimeoutError } from "../errors.ts";

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** How long the whole call may take, all attempts together, in milliseconds. `Infinity`: as long as it takes. */
  timeoutMs?: number | undefined;
}

const LONGEST_TIMER_MS = 0x7fff_ffff;

/** A call under way: when it is to end. */
export interface Limits {
  /** Aborted by the caller's signal and at the deadline. */
  signal: AbortSignal;
  /** Milliseconds that are left, by a clock that nobody sets. */
  leftMs: () => number;
}

/** Does work that ends with its caller's signal or after `ms`, whatever the work does. Nothing is left behind. */
export async function within<Result>(
  { signal: given, timeoutMs: ms = Infinity }: CallOptions,
  work: (limits: Limits) => Promise<Result>,
): Promise<Result> {
  given?.throwIfAborted();
  const abort = new AbortController();
  const { signal } = abort;
  const begun = performance.now();
  const late = (): void => abort.abort(new TimeoutError(`The call took longer than ${ms} ms.`));
  const timer = ms < Infinity ? setTimeout(late, Math.min(ms, LONGEST_TIMER_MS)) : undefined;
  const pass = (): void => abort.abort(given?.reason);
  given?.addEventListener("abort", pass);
  try {
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const leftMs = (): number => ms - (performance.now() - begun);
    return await Promise.race([work({ signal, leftMs }), ended]);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(timer);
    given?.removeEventListener("abort", pass);
  }
}

/** An abort of one's own that a caller's signal brings about too. */
export function linked(signal: AbortSignal | undefined): AbortController {
  const abort = new AbortController();
  const pass = (): void => abort.abort(signal?.reason);
  if (signal?.aborted) pass();
  signal?.addEventListener("abort", pass, { once: true });
  abort.signal.addEventListener("abort", () => signal?.removeEventListener("abort", pass));
  return abort;
}

/** Waits, or rejects with the signal's reason. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
