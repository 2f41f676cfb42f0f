import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Capacity } from "../machines/capacity.ts";
import { StateError, failed } from "../machines/state-error.ts";
import { Vm } from "../machines/vm.ts";
import type { Vms } from "../machines/vms.ts";
import type { RecordKeeper } from "../records/keeper.ts";
import type { MachineRecord } from "../records/record.ts";
import type { RecordStore, StoredRecord } from "../records/store.ts";
import type { Volumes } from "../volumes/volumes.ts";

export interface StarterParts {
  keeper: RecordKeeper;
  store: RecordStore;
  vms: Vms;
  capacity: Capacity;
  volumes: Volumes;
  hasEgress: boolean;
  log: Log;
}

/** Who the machine of a record is to be. */
export interface Identified {
  id: string;
  org: string | null;
  self: MachineRecord["self"];
  isolation: MachineRecord["isolation"];
  /** The machine whose place it takes, as soon as it answers. */
  before?: Vm;
}

/** Starts sandboxes' machines from records, in place of another machine or beside the others. */
export class RecordStarter {
  readonly #parts: StarterParts;

  constructor(parts: StarterParts) {
    this.#parts = parts;
  }

  /** Returns when the machine is one of the host's. Throws a `StateError`. */
  async start(stored: StoredRecord, as: Identified): Promise<Vm> {
    const { keeper, capacity, volumes, hasEgress, log } = this.#parts;
    const { id, org, self, isolation, before } = as;
    // What filters its packets may be missing in this run of the host, and be back in the next.
    const known = { ...self, hasNetwork: isolation !== "hardened" && hasEgress };
    const { cpu, memMb, diskGb } = stored.record;
    const startedAt = performance.now();
    // The machine before gives its part back as it ends: for that moment more is given out than is counted.
    const giveBack = before ? capacity.force({ cpu, memMb }) : capacity.claim({ cpu, memMb });
    try {
      await volumes.settle(id);
      const { machine, guest } = await keeper.start(stored, known, false);
      void machine.exited.then(giveBack);
      const enforcement = { cpu: "vm", memMb: "vm" } as const;
      const acquiredMs = performance.now() - startedAt;
      const got = { cpu, memMb, diskGb, isolation, enforcement, how: "fork" as const, acquiredMs };
      const vm = new Vm(id, machine, guest, got);
      vm.org = org;
      await this.#add(stored, vm, as);
      return vm;
    } catch (error) {
      giveBack();
      throw failed(error, "ResumeFailed", log);
    }
  }

  /** Adds a machine with its volumes. Should that fail, the machine ends: without them it is not what was saved. */
  async #add(stored: StoredRecord, vm: Vm, { before, org, self }: Identified): Promise<void> {
    const { vms, volumes } = this.#parts;
    try {
      // Found while the machine before still runs.
      if (before) await volumes.checkPaths(vm.id, vm.guest);
      // Takes its place at once: a heartbeat in between would say that there is no such machine.
      if (before) vms.add(vm);
      // Two machines that write one volume destroy it.
      if (before) await this.#endReplaced(before);
      await volumes.remount(vm.id, stored.record, vm);
      if (!before) vms.add(vm);
    } catch (error) {
      const isPaused = before?.isOver === true && org !== null;
      // Paused before it is taken from the host's machines: it is known all the time.
      if (isPaused) await this.#pauseAtSnapshot(stored, { id: vm.id, org, self });
      vms.release(vm);
      await vm.machine.destroy();
      if (!isPaused) throw error;
      await volumes.paused(vm.id);
      const text = `It is paused as of the snapshot: a volume was not mounted. ${messageOf(error)}`;
      throw new StateError(503, "ResumeFailed", text);
    }
  }

  /** The revert failed after the old machine had ended: the sandbox stays paused at the snapshot. */
  async #pauseAtSnapshot(
    stored: StoredRecord,
    as: { id: string; self: MachineRecord["self"]; org: string },
  ): Promise<void> {
    const { store, keeper } = this.#parts;
    const isCheckpointed = store.get("checkpoint", as.id) !== undefined;
    await keeper.copy(stored, { kind: "paused", isCheckpointed, ...as });
    await store.remove("checkpoint", as.id);
  }

  async #endReplaced(before: Vm): Promise<void> {
    before.endSockets("running", CLOSE_CODES.reverted, "the sandbox was reverted");
    await this.#parts.volumes.unmount(before);
    await before.machine.destroy();
    before.isOver = true;
  }
}
