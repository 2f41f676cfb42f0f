import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { attachVolumes, releaseVolumes, volumeRows } from "../../control-plane/volumes.ts";
import { atMost } from "../live/deadline.ts";
import { registeredHosts } from "../fleet/registry.ts";
import type { StoredSandbox } from "./record.ts";

/** A volume that a sandbox shall have, and where it is mounted. */
export interface WantedMount {
  volumeId: string;
  path: string;
}

/** A try that fails has found one holder that is over: so many can be found. */
const TRIES = LIMITS.volumesMounted + 1;

/** Fails closed: a volume that cannot be asked about may be attached (document 2). */
export const statusUnknown = (): Refusal =>
  refusal(
    "VolumeStatusUnknown",
    "It could not be checked whether the volume is attached. Try again.",
  );

/**
 * Why a sandbox cannot have these volumes now: one is unknown, or another sandbox has it. Null when all are free. A
 * holder that is over has no volumes: those that it did not give back are taken from it.
 */
export async function volumesRefused(
  env: Env,
  orgId: string,
  ids: string[],
): Promise<Refusal | null> {
  try {
    const rows = await volumeRows(env.DB, orgId, ids);
    const unknown = ids.find((id) => !rows.some((row) => row.id === id));
    if (unknown !== undefined) return refusal("NotFound", "There is no such volume.");
    for (const { attached_to: holder } of rows)
      if (holder !== null && !(await isFreed(env, holder)))
        return refusal("VolumeAlreadyAttached", "Another machine has this volume.", { holder });
    return null;
  } catch {
    return statusUnknown();
  }
}

/** Whether a sandbox is over. If it is, this has taken its volumes from it. */
export async function isFreed(env: Env, holder: string): Promise<boolean> {
  const kind = await atMost(LIMITS.objectCallMs, env.SANDBOXES.getByName(holder).kind());
  if (kind !== null) return false;
  await releaseVolumes(env.DB, holder, null);
  return true;
}

/** What a host is told to make once the sandbox has its volumes: all of them, or a refusal. */
export async function takeVolumes(
  env: Env,
  { id, org, volumes = [], body }: TakeOrder,
): Promise<PlaceVm | Refusal> {
  if (volumes.length === 0) return body;
  const ids = volumes.map(({ volumeId }) => volumeId);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const given = await attachVolumes(env.DB, org, ids, id).catch(() => null);
    if (given === null) return statusUnknown();
    if (given.length === ids.length)
      return { ...body, volumes: await mountsOf(env, volumes, given) };
    const refused = await volumesRefused(env, org, ids);
    if (refused) return refused;
  }
  return statusUnknown();
}

interface TakeOrder {
  id: string;
  org: string;
  volumes?: WantedMount[];
  body: PlaceVm;
}

type Given = Awaited<ReturnType<typeof attachVolumes>>;

async function mountsOf(env: Env, volumes: WantedMount[], given: Given) {
  const hosts = await registeredHosts(env).catch(() => null);
  return volumes.map(({ volumeId, path }) => {
    const { epoch = 1, hostId = null } = given.find((one) => one.volumeId === volumeId) ?? {};
    const isThere = hosts === null || hosts.some((host) => host.hostId === hostId);
    const takeOver = hostId !== null && !isThere;
    return { volumeId, path, epoch, ...(takeOver && { takeOver: true as const }) };
  });
}

/** Gives back the volumes of a sandbox. Nothing is asked for a sandbox that was created without any. */
export async function giveBackVolumes(env: Env, sandbox: StoredSandbox): Promise<void> {
  const { id, place, hasVolumes } = sandbox;
  if (hasVolumes) await releaseVolumes(env.DB, id, place?.hostId ?? null);
}
