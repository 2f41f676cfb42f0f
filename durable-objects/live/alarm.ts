/** Named times in ms since the epoch. What is null or undefined never comes. */
export type Times = Record<string, number | null | undefined>;

/** The earliest of some times, as an alarm takes it; null when none comes. */
export function earliest(times: Times): number | null {
  const set = Object.values(times).filter((at) => typeof at === "number");
  // The runtime takes no alarm at 0, which means at once.
  return set.length === 0 ? null : Math.max(1, Math.min(...set));
}

/**
 * Sees to it that an object's one alarm rings at the earliest of some times, or before. Only the alarm itself is
 * stored: the times are computed from the object's state, so that a lost alarm comes back with the next look at it.
 * Answers when the alarm rings.
 */
export async function arm(
  storage: DurableObjectStorage,
  times: () => Times,
): Promise<number | null> {
  const armed = await storage.getAlarm();
  // From the state as it is by now: the alarm of a change meanwhile must not be moved back.
  const next = earliest(times());
  if (armed === next) return next;
  // An alarm that rings too early sets itself again: cheaper than a write for each time that has moved on.
  if (next !== null && armed !== null && armed < next) return armed;
  if (next === null) await storage.deleteAlarm();
  else await storage.setAlarm(next);
  return next;
}
