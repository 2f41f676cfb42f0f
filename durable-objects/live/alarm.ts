/** Named times in ms since the epoch. What is null or undefined never comes. */
export type Times = Record<string, number | null | undefined>;

/** The earliest of some times, as an alarm takes it; null when none comes. */
export function earliest(times: Times): number | null {
  const set = Object.values(times).filter((at) => typeof at === "number");
  // The runtime takes no alarm at 0, which means at once.
  return set.length === 0 ? null : Math.max(1, Math.min(...set));
}

/** An alarm that has not rung so long after its time is lost: the runtime was killed while it took it. */
const OVERDUE_MS = 30_000;

/**
 * Sees to it that an object's one alarm rings at the earliest of some times, or before. Only the alarm itself is
 * stored: the times are computed from the object's state, so that a lost alarm comes back with the next look at it.
 * `onSet` hears when the alarm rings, in the same moment as that is set.
 */
export async function arm(
  storage: DurableObjectStorage,
  times: () => Times,
  onSet: (at: number | null) => void = () => {},
): Promise<void> {
  const armed = await storage.getAlarm();
  // From the state as it is by now: the alarm of a change meanwhile must not be moved back.
  const next = earliest(times());
  const now = Date.now();
  const isLost = armed !== null && armed < now - OVERDUE_MS;
  // An alarm that rings too early sets itself again: cheaper than a write for each time that has moved on.
  const rings = !isLost && (armed === next || (next !== null && armed !== null && armed < next));
  // The runtime takes no notice of a time that the alarm has already.
  const at = isLost && next !== null ? Math.max(next, now) : next;
  onSet(rings ? armed : at);
  if (rings) return;
  if (at === null) await storage.deleteAlarm();
  else await storage.setAlarm(at);
}
