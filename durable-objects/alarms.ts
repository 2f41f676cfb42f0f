/**
 * Named times on the one alarm an object has. Nothing is stored but the alarm itself: the names are
 * computed from the object's state, so that a lost alarm comes back with the next look at it.
 */
export async function arm(
  storage: DurableObjectStorage,
  times: Record<string, number | null | undefined>,
): Promise<void> {
  const set = Object.values(times).filter((at) => typeof at === "number");
  const next = set.length === 0 ? null : Math.min(...set);
  const armed = await storage.getAlarm();
  if (armed === next) return;
  if (next === null) await storage.deleteAlarm();
  // One that rings too early sets itself again: cheaper than a write for each time that has moved on.
  else if (armed === null || armed > next) await storage.setAlarm(next);
}
