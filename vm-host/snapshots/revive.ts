import type { Log } from "@svc/host-kit/log.ts";
import type { Capacity } from "../sizes.ts";
import { Vm } from "../vm.ts";
import type { Vms } from "../vms.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { RecordKeeper } from "./keeper.ts";
import type { SnapshotRecord } from "./record.ts";
import { StateError, failed } from "./state-error.ts";
import type { Kept } from "./store.ts";

const REVERTED = 4410;

export interface ReviveParts {
  keeper: RecordKeeper;
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
  const { keeper, vms, capacity, volumes, hasEgress, log } = parts;
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
    if (!before) await remounted(volumes, kept, vm);
    // Takes its place at once: a heartbeat in between would say that there is no such machine.
    vms.add(vm);
    if (before) await endReplaced(volumes, before);
    // An image that the other one had until now.
    if (before) await volumes.remount(id, kept.record, vm);
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

/** Gives a machine that nobody knows yet what it has; one that cannot have it is ended, and its record stays. */
async function remounted(volumes: Volumes, kept: Kept, vm: Vm): Promise<void> {
  try {
    await volumes.remount(vm.id, kept.record, vm);
  } catch (error) {
    await vm.machine.destroy();
    throw error;
  }
}

async function endReplaced(volumes: Volumes, before: Vm): Promise<void> {
  before.endSockets("running", REVERTED, "the sandbox was reverted");
  await volumes.unmount(before);
  await before.machine.destroy();
}
