import { ApiError, type Refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { GIB_BYTES } from "@svc/contract/plans.ts";
import { keptRows, type KeptRows, planLimit } from "../../control-plane/kept.ts";
import { atMost } from "../live/deadline.ts";
import { tried } from "../live/tried.ts";
import type { KeptMachines } from "./messages.ts";

/** Everything that an org keeps. Throws while it cannot be counted. */
export async function keptBy(env: Env, org: string): Promise<KeptMachines & KeptRows> {
  const asking = atMost(LIMITS.objectCallMs, env.ORGS.getByName(org).kept());
  const [machines, rows] = await Promise.all([
    tried("kept_machines_unknown", asking),
    keptRows(env.DB, org),
  ]);
  if (machines) return { ...machines, ...rows };
  throw new ApiError("ObjectUnavailable", "What the org keeps could not be counted. Try again.");
}

/** Why an org can store nothing more: what it keeps has reached its cap already. Throws while that cannot be counted. */
export async function storageFull(
  env: Env,
  { org, plan, storedGib }: { org: string; plan: string; storedGib: number },
): Promise<Refusal | null> {
  if (storedGib === Infinity) return null;
  const { recordBytes, snapshotBytes, volumeBytes } = await keptBy(env, org);
  const isFull = recordBytes + snapshotBytes + volumeBytes >= storedGib * GIB_BYTES;
  return isFull ? planLimit("storage", { plan, cap: storedGib }) : null;
}
