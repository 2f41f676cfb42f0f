/**
 * Whether something of the time `at` is less than `ms` old. A time ahead of the clock is one from before the clock
 * was set back: it is not recent, or it would be so until the clock has caught up.
 */
export const isRecent = (at: number, ms: number, now: number): boolean =>
  at <= now && now - at < ms;
