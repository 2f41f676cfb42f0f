import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Capacity } from "../machines/capacity.ts";
import { Vm } from "../machines/vm.ts";
import type { Vms } from "../machines/vms.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { afterBrokenRevert } from "./what-follows.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import type { SnapshotRecord } from "../snapshots/record.ts";
import { StateError, failed } from "./state-error.ts";
import type { Kept, Store } from "../snapshots/store.ts";

export interface ReviveParts {
  keeper: RecordKeeper;
  store: Store;
  vms: Vms;
  capacity: Capacity;
  volumes: Volumes;
  hasEgress: boolean;
  log: Log;
}

/** Who a record's machine shall be. */
export interface Revived {
  id: string;
  org: string | null;
  self: SnapshotRecord["self"];
  isolation: SnapshotRecord["isolation"];
  /** The machine whose place it takes, as soon as it answers. */
  before?: Vm;
}

/** Starts a machine from a record, in place of `before` or in new room, and adds it to those of the host. */
export async function revive(parts: ReviveParts, kept: Kept, as: Revived): Promise<Vm> {
  const { keeper, capacity, volumes, hasEgress, log } = parts;
  const { id, org, self, isolation, before } = as;
  // What filtered its packets may be missing in this run of the host.
  const known = { ...self, hasNetwork: self.hasNetwork && hasEgress };
  const { cpu, memMb, diskGb } = kept.record;
  const startedAt = performance.now();
  // The one it takes the place of gives its room back as it ends: for that moment there is more than is counted.
  const room = before ? capacity.force({ cpu, memMb }) : capacity.take({ cpu, memMb });
  if (typeof room === "string") throw noRoom(room);
  try {
    await volumes.settle(id);
    const { machine, guest } = await keeper.start(kept, known, false);
    void machine.exited.then(room);
    const enforcement = { cpu: "vm", memMb: "vm" } as const;
    const acquiredMs = performance.now() - startedAt;
    const got = { cpu, memMb, diskGb, isolation, enforcement, how: "fork" as const, acquiredMs };
    const vm = new Vm(id, machine, guest, got);
    vm.org = org;
    await settleIn(parts, kept, vm, as);
    return vm;
  } catch (error) {
    room();
    throw failed(error, "ResumeFailed", log);
  }
}

/** Why a machine finds no room here. */
export function noRoom(lack: "slots" | "size"): StateError {
  return lack === "slots"
    ? new StateError(503, "NoCapacity", "Every place here is taken.")
    : new StateError(507, "InsufficientCapacity", "This size does not fit here right now.");
}

/** Among those of the host, with its volumes. Should that fail, it ends: one without them is not what was saved. */
async function settleIn(
  parts: ReviveParts,
  kept: Kept,
  vm: Vm,
  { before, org, self }: Revived,
): Promise<void> {
  const { vms, volumes } = parts;
  try {
    // Found while the one before runs still.
    if (before) await volumes.checkPaths(vm.id, vm.guest);
    // Takes its place at once: a heartbeat in between would say that there is no such machine.
    if (before) vms.add(vm);
    // Two machines that write one volume destroy it.
    if (before) await endReplaced(volumes, before);
    await volumes.remount(vm.id, kept.record, vm);
    if (!before) vms.add(vm);
  } catch (error) {
    const isPaused = before?.isOver === true && org !== null;
    // Before it is no more among those of the host: it is there all the time.
    if (isPaused) await afterBrokenRevert(parts, kept, { id: vm.id, org, self });
    vms.release(vm);
    await vm.machine.destroy();
    if (!isPaused) throw error;
    await volumes.rested(vm.id);
    const text = `It is paused as of the snapshot: a volume was not mounted. ${messageOf(error)}`;
    throw new StateError(503, "ResumeFailed", text);
  }
}

async function endReplaced(volumes: Volumes, before: Vm): Promise<void> {
  before.endSockets("running", CLOSE_CODES.reverted, "the sandbox was reverted");
  await volumes.unmount(before);
  await before.machine.destroy();
  before.isOver = true;
}
