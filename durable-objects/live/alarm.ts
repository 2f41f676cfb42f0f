/**
 * Named times on the one alarm an object has. Nothing is stored but the alarm itself: the names are
 * computed from the object's state, so that a lost alarm comes back with the next look at it. Answers when
 * the alarm rings.
 */
export async function arm(
  storage: DurableObjectStorage,
  times: () => Record<string, number | null | undefined>,
): Promise<number | null> {
  const armed = await storage.getAlarm();
  // From the state as it is by now: the alarm of a change meanwhile must not be moved back.
  const set = Object.values(times()).filter((at) => typeof at === "number");
  const next = set.length === 0 ? null : Math.min(...set);
  if (armed === next) return next;
  // One that rings too early sets itself again: cheaper than a write for each time that has moved on.
  if (next !== null && armed !== null && armed < next) return armed;
  if (next === null) await storage.deleteAlarm();
  else await storage.setAlarm(next);
  return next;
}
