import { LIMITS } from "@svc/contract/limits.ts";
import { keptRows } from "../../../control-plane/kept.ts";
import { atMost } from "../../../durable-objects/live/deadline.ts";
import { tried } from "../../../durable-objects/live/tried.ts";
import { type KeptCaps, UNCAPPED } from "../../../durable-objects/org/messages.ts";
import type { Caller } from "../../context.ts";

/**
 * The caps of an org, for the org's object to judge by. While D1 does not answer only the records of machines count in GiB: that
 * cap is passed by a little anyway, and no create or resume waits for it.
 */
export async function keptOf(
  env: Env,
  org: Pick<Caller, "orgId" | "plan"> | null,
): Promise<KeptCaps> {
  if (!org) return UNCAPPED;
  const { pausedVms, storedGib } = org.plan;
  if (storedGib === Infinity) return { pausedVms, storedGib, elsewhereBytes: 0 };
  const counting = atMost(LIMITS.objectCallMs, keptRows(env.DB, org.orgId));
  const rows = await tried("storage_not_counted", counting);
  const elsewhereBytes = rows ? rows.snapshotBytes + rows.volumeBytes : 0;
  return { pausedVms, storedGib, elsewhereBytes };
}
