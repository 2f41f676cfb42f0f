import { ApiError, ConnectionError } from "../errors.ts";

const FIRST_MS = 500;
const MOST_MS = 8_000;
const RETRY_AFTER_MOST_MS = 30_000;

/**
 * Whether to try again (document 1, Errors): 502, 503, 504, a transport error, or any status whose body says `retryable: true`;
 * never 429. `isRepeatable`: doing it twice does what doing it once does. Where it does not, an attempt that may have been
 * done, which is what a 504 and a transport error mean, is the last one.
 */
export function mayRetry(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof ConnectionError) return isRepeatable;
  if (!(error instanceof ApiError) || error.status === 429) return false;
  // A body knows better than its status.
  if (error.body.retryable !== undefined) return error.retryable;
  return error.status === 502 || error.status === 503 || (error.status === 504 && isRepeatable);
}

/** Full jitter: any time up to a limit that doubles with each attempt, in milliseconds. */
export const backoffMs = (attempt: number): number =>
  Math.random() * Math.min(MOST_MS, FIRST_MS * 2 ** attempt);

/** How long to wait before the next attempt, in milliseconds: as the service says, up to 30 s, or by backoff. */
export function waitMs(error: unknown, attempt: number): number {
  const asked = error instanceof ApiError ? error.retryAfterMs : null;
  return asked === null ? backoffMs(attempt) : Math.min(asked, RETRY_AFTER_MOST_MS);
}

/** `Retry-After` in milliseconds: seconds, or a date, which is read by the clock of the service; null for neither. */
export function retryAfterMs(headers: Headers): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const ms = Date.parse(text) - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
