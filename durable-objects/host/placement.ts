import type { Place } from "../host-calls/place.ts";
import type { HostChange } from "./messages.ts";

/**
 * Tells the host's object that something is placed there, or is not any more. Answers what has happened to the host
 * since, as far as the object knows.
 */
export async function notePlacement(
  env: Env,
  { id, place }: { id: string; place: Place | null },
  isPlaced: boolean,
): Promise<HostChange[]> {
  if (!place) return [];
  const host = env.HOSTS.getByName(place.hostId);
  if (!isPlaced) {
    await host.forget(id);
    return [];
  }
  const change = await host.place(id, place.bootId, place.seq);
  return change ? [change] : [];
}
