import { ApiError } from "@svc/contract/errors.ts";
import type { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { findSnapshot, type Snapshot } from "../../../control-plane/snapshots.ts";
import type { SavedMachine } from "../../../durable-objects/fleet/restorable.ts";
import type { AppContext } from "../../context.ts";

/** The record that its owner sees: it does not say where the snapshot lies. */
export function recordOf(snapshot: Snapshot): SnapshotRecord {
  const { id, org: _org, hostId: _hostId, parentId, isDurable, platform, ...facts } = snapshot;
  return {
    snapshotId: id,
    ...facts,
    parentSnapshotId: parentId,
    durable: isDurable,
    platform: platform && { arch: archOf(platform.machine), machine: platform.machine },
    createdAt: new Date(facts.createdAt).toISOString(),
  };
}

/** Where a snapshot lies, and under what it can go on. */
export const savedOf = ({ hostId, isDurable, platform }: Snapshot): SavedMachine => ({
  hostId,
  isDurable,
  platform,
});

/** QEMU names the machines of each processor family in its own way. */
const archOf = (machine: string): string => (machine.startsWith("virt") ? "aarch64" : "x86_64");

/** Unknown, deleted, another org's: one answer, to the byte. */
export const noSnapshot = (): ApiError => new ApiError("NotFound", "There is no such snapshot.");

/** The snapshot of a path's `:id` when it is the caller's own. */
export async function ownedSnapshot(
  c: AppContext,
  id: string = c.req.param("id") ?? "",
): Promise<Snapshot> {
  const snapshot = await findSnapshot(c.env.DB, c.get("caller").orgId, id);
  if (!snapshot) throw noSnapshot();
  return snapshot;
}
