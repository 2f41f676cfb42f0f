import { LIMITS } from "@svc/contract/limits.ts";
import {
  noteRemoved,
  removeLater,
  type RemovableSnapshot,
  removableSnapshots,
} from "../control-plane/snapshot-lineage.ts";
import { registeredHosts } from "../durable-objects/fleet/registry.ts";
import { hostsWith, restoring } from "../durable-objects/fleet/restorable.ts";

const mostAtOnce = 50;

/** Tells the host of a deleted or failed snapshot to remove it, and forgets the snapshot once the host has. */
export async function removeSnapshot(
  env: Env,
  { id, org, hostId }: Pick<RemovableSnapshot, "id" | "org" | "hostId">,
): Promise<boolean> {
  const isRemoved = await env.HOSTS.getByName(hostId).removeSnapshot({ id, org });
  if (isRemoved) await noteRemoved(env.DB, id);
  return isRemoved;
}

/** Tells hosts to remove all snapshots that are due. Answers how many they have removed. */
export async function removeSnapshots(env: Env, now: number): Promise<number> {
  let removed = 0;
  for (const snapshot of await removableSnapshots(env.DB, now, mostAtOnce)) {
    const isRemoved = await removeSnapshot(env, await atHost(env, snapshot, now)).catch(
      () => false,
    );
    if (isRemoved) removed += 1;
    else if (now - (snapshot.deletedAt ?? now) > LIMITS.leavingKeptMs)
      await noteRemoved(env.DB, snapshot.id);
    else await removeLater(env.DB, snapshot.id, now + LIMITS.leavingRetryMs);
  }
  return removed;
}

/** The snapshot with the host that shall remove it: its own, or any other for a durable one whose host stays away. */
async function atHost(
  env: Env,
  snapshot: RemovableSnapshot,
  now: number,
): Promise<RemovableSnapshot> {
  const { isDurable, deletedAt, hostId } = snapshot;
  const isOld = isDurable && deletedAt !== null && now - deletedAt > LIMITS.heirAfterMs;
  if (!isOld) return snapshot;
  const hosts = hostsWith(await registeredHosts(env), restoring("sandbox"));
  const other = hosts.find((host) => host.hostId === hostId) ?? hosts[0];
  return { ...snapshot, hostId: other?.hostId ?? hostId };
}
