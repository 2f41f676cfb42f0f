import type { SharedRests } from "../shared/states.ts";
import type { Vm } from "../machines/vm.ts";
import type { Vms } from "../machines/vms.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import type { SnapshotRecord } from "../snapshots/record.ts";
import type { Kept, Store } from "../snapshots/store.ts";

export interface FallParts {
  store: Store;
  vms: Vms;
  shared: SharedRests;
  volumes: Volumes;
}

/** A record that was gone on from is no longer needed, unless it is what a crash leaves of its machine. */
export async function afterResume(
  { store, onChange }: { store: Store; onChange: () => void },
  vm: Vm,
  kept: Kept,
): Promise<void> {
  const { kind, recordId, org, isCheckpointed } = kept.record;
  // It is paused, as it was: nobody had a use of what was in between.
  if (vm.isOver && kind === "paused") return;
  const { id } = vm;
  if (isCheckpointed) await store.change(kept, { kind: "checkpoint", id });
  else if (kind === "copy" && org !== null) await store.bury({ org, recordId });
  await store.remove("copy", recordId);
  await store.remove("paused", id);
  onChange();
}

/** What a crash leaves of a machine that has a checkpoint is no more what it was before. */
export async function afterRevert(
  { store, keeper }: { store: Store; keeper: RecordKeeper },
  kept: Kept,
  as: { id: string; self: SnapshotRecord["self"]; org: string },
): Promise<void> {
  const { id } = as;
  const hasOne =
    store.get("checkpoint", id) ?? store.get("paused", id)?.record.isCheckpointed ?? false;
  if (hasOne) await keeper.copy(kept, { kind: "checkpoint", ...as });
  await store.remove("paused", id);
}

/** The machine that was to become a snapshot again is gone, and what came of the snapshot, too: it is that, paused. */
export async function afterBrokenRevert(
  { store, keeper }: { store: Store; keeper: RecordKeeper },
  kept: Kept,
  as: { id: string; self: SnapshotRecord["self"]; org: string },
): Promise<void> {
  const isCheckpointed = store.get("checkpoint", as.id) !== undefined;
  await keeper.copy(kept, { kind: "paused", isCheckpointed, ...as });
  await store.remove("checkpoint", as.id);
}

/**
 * A machine died by itself: it is paused as of what was last saved of it, with the volumes that it has. False when nothing
 * was, or when there is another machine in its place.
 */
export async function afterFall(
  { store, vms, shared, volumes }: FallParts,
  id: string,
): Promise<boolean> {
  if (vms.get(id)) return false;
  const kept = store.get("checkpoint", id);
  // One that died while it was being paused may have both: the newer one is whole.
  if (kept && !store.get("paused", id)) await store.change(kept, { kind: "paused", id });
  const isPaused = store.get("paused", id) !== undefined || (await shared.fell(id));
  if (isPaused) await volumes.rested(id);
  return isPaused;
}
