import type { Refusal } from "@svc/contract/errors.ts";
import { isRefusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { knownHosts } from "../fleet/registry.ts";
import { type Place, placeAt } from "../host-calls/place.ts";
import { atMost } from "../live/deadline.ts";
import { tried } from "../live/tried.ts";
import type { LiveSandbox, PlacedSandbox, SavedRecord, StoredSandbox } from "./record.ts";
import type { SandboxEvent } from "./state.ts";

/** A change of state that a host has made: the event, with facts that came with it; or why there was none. */
export type Change = { event: SandboxEvent; facts: Partial<StoredSandbox> } | Refusal;

/** Applies a change and has the org's list know it, if that is soon. Answers why there was none. */
export async function applyChange(
  { record }: LiveSandbox,
  change: Change,
): Promise<Refusal | null> {
  if (isRefusal(change)) return change;
  record.apply(change.event, change.facts);
  await tried("index_not_written_yet", atMost(LIMITS.objectCallMs, record.do("index")));
  return null;
}

/** What a host says of a machine that it has just saved. */
interface Saved extends Pick<Place, "bootId" | "seq"> {
  recordId?: string | undefined;
  sizeBytes: number;
  durable?: boolean | undefined;
}

/** Where a machine is and what it can go on from, once its host has saved it: a record of the host's platform. */
export async function factsOfSaved(
  env: Env,
  { place }: PlacedSandbox,
  saved: Saved,
): Promise<{ place: Place; record: SavedRecord | null; isDurable: boolean }> {
  const { recordId: id, durable: isDurable = false, sizeBytes } = saved;
  const at = placeAt(place, saved);
  if (id === undefined) return { place: at, record: null, isDurable };
  const hosts = await knownHosts(env);
  const platform = hosts.find(({ hostId }) => hostId === place.hostId)?.platform ?? null;
  return { place: at, record: { id, isDurable, platform, sizeBytes }, isDurable };
}

/** What a host says of a machine that it has just resumed or reverted. */
interface Resumed extends Pick<Place, "bootId" | "seq"> {
  cpu: number;
  memMb: number;
  diskGb: number;
  resolution?: string | undefined;
}

/** The size of a screen, as a host says it. Of hosts of an earlier version, and of sandboxes, there is none. */
export const screenOf = ({ resolution }: Pick<Resumed, "resolution">) =>
  resolution === undefined ? {} : { resolution };

/** Where a machine is and what it has, once it runs again: the record it was saved as is spent. */
export function factsOfResumed(at: Pick<Place, "hostId" | "url">, resumed: Resumed) {
  const { cpu, memMb, diskGb } = resumed;
  const size = { cpu, memMb, diskGb, ...screenOf(resumed) };
  return { place: placeAt(at, resumed), ...size, record: null, movingTo: null };
}
