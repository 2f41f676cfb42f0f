/**
 * Whether the time `at` is less than `ms` ago. A time ahead of the clock comes from before the clock was set back: not
 * recent, or it would stay so until the clock has caught up.
 */
export const isRecent = (at: number, ms: number, now: number): boolean =>
  at <= now && now - at < ms;
