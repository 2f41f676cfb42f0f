import { LIMITS } from "@svc/contract/limits.ts";
import {
  hasLeft,
  leavesLater,
  type Leaving,
  leavingSnapshots,
} from "../control-plane/snapshot-lineage.ts";
import { registeredHosts } from "../durable-objects/fleet.ts";
import { restorers } from "../durable-objects/fleet/restorable.ts";

const mostAtOnce = 50;

/** Tells the host of a deleted or failed snapshot to let go of it, and forgets it when it has. */
export async function letGo(
  env: Env,
  { id, org, hostId }: Pick<Leaving, "id" | "org" | "hostId">,
): Promise<boolean> {
  const isGone = await env.HOSTS.getByName(hostId).removeSnapshot({ id, org });
  if (isGone) await hasLeft(env.DB, id);
  return isGone;
}

/** Tells hosts to let go of all that is due. Answers how many they have. */
export async function letGoOfAll(env: Env, now: number): Promise<number> {
  let gone = 0;
  for (const snapshot of await leavingSnapshots(env.DB, now, mostAtOnce)) {
    const isGone = await letGo(env, await heirOf(env, snapshot, now)).catch(() => false);
    if (isGone) gone += 1;
    else if (now - (snapshot.deletedAt ?? now) > LIMITS.leavingKeptMs)
      await hasLeft(env.DB, snapshot.id);
    else await leavesLater(env.DB, snapshot.id, now + LIMITS.leavingRetryMs);
  }
  return gone;
}

/** Who lets go of it: its own host, or for one in the object store whose host stays away, any other. */
async function heirOf(env: Env, snapshot: Leaving, now: number): Promise<Leaving> {
  const { isDurable, deletedAt, hostId } = snapshot;
  const isOld = isDurable && deletedAt !== null && now - deletedAt > LIMITS.heirAfterMs;
  if (!isOld) return snapshot;
  const hosts = restorers(await registeredHosts(env), "sandbox");
  const heir = hosts.find((host) => host.hostId === hostId) ?? hosts[0];
  return { ...snapshot, hostId: heir?.hostId ?? hostId };
}
