import type { PlaceVm, VmReport } from "@svc/contract/host-protocol/vms.ts";
import type {
  SnapshotTaken,
  StateRefused,
  VmParked,
  VmPaused,
  VmResumed,
} from "@svc/contract/host-protocol/vm-states.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { newSelf } from "../guest/identity.ts";
import type { Capacity } from "../sizes.ts";
import { Vm } from "../vm.ts";
import type { Volumes } from "../volumes/volumes.ts";
import { type Asleep, type Placed, type Recipe, type Vms, refuse } from "../vms.ts";
import type { RecordKeeper } from "./keeper.ts";
import { Lanes } from "./lanes.ts";
import { NotRestorable, type SnapshotRecord } from "./record.ts";
import type { Kept, Store } from "./store.ts";

const CLOSE = { paused: 4409, reverted: 4410 };

/** A change of state that is not done, and why. */
export class StateError extends Error {
  readonly status: 404 | 409 | 503 | 507;
  readonly code: StateRefused["code"];

  constructor(status: StateError["status"], code: StateRefused["code"], message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }

  get body(): StateRefused {
    const { message: error, code, status } = this;
    return { error, code, retryable: status === 503 || status === 507 };
  }
}

export interface StatesParts {
  vms: Vms;
  store: Store;
  capacity: Capacity;
  volumes: Volumes;
  hasEgress: boolean;
  log: Log;
  onChange: () => void;
}

/** Pause, resume, snapshot, fork, revert and park: acts on machines, for each one after the other. */
export class VmStates implements Asleep {
  readonly #parts: StatesParts;
  readonly #lanes = new Lanes();
  #keeper: RecordKeeper | null = null;

  constructor(parts: StatesParts) {
    this.#parts = parts;
  }

  /** Machines can be saved and made from now on. */
  open(keeper: RecordKeeper): void {
    this.#keeper = keeper;
  }

  reports(): VmReport[] {
    return this.#parts.store
      .all("paused")
      .map(({ id, lastActivityAt }) => ({ id, state: "paused", lastActivityAt }));
  }

  has(id: string): boolean {
    return this.#parts.store.get("paused", id) !== undefined;
  }

  /** Many at once are one; of one that is paused it is that. */
  pause(id: string): Promise<VmPaused> {
    return this.#lanes.join(id, "pause", async () => {
      const startedAt = performance.now();
      const vm = this.#parts.vms.get(id);
      const { record } = vm ? await this.#pause(vm) : this.#paused(id, 404, "NotRunning");
      const tookMs = performance.now() - startedAt;
      return { state: "paused", sizeBytes: record.sizeBytes, tookMs, ...this.#parts.vms.stamp() };
    });
  }

  resume(id: string): Promise<VmResumed> {
    return this.#lanes.join(id, "resume", async () => {
      const startedAt = performance.now();
      const { vms, log } = this.#parts;
      if (vms.get(id)) throw new StateError(409, "NotPaused", "This machine is not paused.");
      const kept = this.#paused(id, 404, "NotPaused");
      const vm = await this.#start(id, kept, kept.record);
      await this.#open.remove("paused", id);
      const { how: _how, enforcement: _enforcement, acquiredMs: _acquired, ...got } = vm.placed;
      const tookMs = performance.now() - startedAt;
      log.info({ machine: vm.machine.name, tookMs: Math.round(tookMs) }, "a machine was resumed");
      return { ...got, state: "running", tookMs, ...vms.stamp() };
    });
  }

  /** Of a running or a paused machine. A repeat gets what the first got. */
  snapshot(id: string, snapshotId: string): Promise<SnapshotTaken> {
    return this.#lanes.run(id, "snapshot", async () => {
      const { store, vms } = this.#parts;
      const known = store.get("snapshot", snapshotId);
      if (known) return takenOf(known.record, 0);
      const vm = vms.get(id);
      try {
        if (!vm) {
          const from = this.#paused(id, 404, "NotRunning");
          return takenOf((await this.#open.copy(from, snapshotId)).record, 0);
        }
        const wish = { kind: "snapshot", id: snapshotId, isLive: true } as const;
        const { kept, stoppedMs } = await this.#open.take(vm, wish);
        return takenOf(kept.record, stoppedMs);
      } catch (error) {
        throw this.#failed(error, "SnapshotFailed");
      }
    });
  }

  /** Becomes what it was. The machine that it is now ends only once the other one answers. */
  revert(id: string, snapshotId: string): Promise<VmResumed> {
    return this.#lanes.run(id, "revert", async () => {
      const startedAt = performance.now();
      const { vms, store } = this.#parts;
      const kept = store.get("snapshot", snapshotId);
      if (!kept) throw new StateError(404, "UnknownSnapshot", "There is no such snapshot here.");
      const before = vms.get(id);
      const { self } = before?.guest ?? this.#paused(id, 404, "NotRunning").record;
      const { bootId } = newSelf({}, false);
      const vm = await this.#start(id, kept, { ...kept.record, self: { ...self, bootId } }, before);
      await this.#open.remove("paused", id);
      const { how: _how, enforcement: _enforcement, acquiredMs: _acquired, ...got } = vm.placed;
      return { ...got, state: "running", tookMs: performance.now() - startedAt, ...vms.stamp() };
    });
  }

  park(id: string): Promise<VmParked> {
    return this.#lanes.join(id, "park", async () => {
      const vm = this.#parts.vms.get(id);
      if (!vm) throw this.#absent(id);
      await vm.park();
      return { state: "running", parked: true };
    });
  }

  /** A new machine that begins where a snapshot was taken, and is somebody else. */
  async fork(id: string, snapshotId: string, ask: PlaceVm): Promise<Placed> {
    const { store, vms, hasEgress } = this.#parts;
    const kept = store.get("snapshot", snapshotId);
    if (!kept) return refuse(409, "UnknownSnapshot", "There is no such snapshot here.");
    try {
      const keeper = this.#open;
      const { spec } = await keeper.restOf(kept);
      const envs = { ...kept.record.self.envs, ...ask.envs };
      const self = newSelf(envs, ask.isolation !== "hardened" && hasEgress);
      const make = async () => ({
        ...(await keeper.start(kept, self, true)),
        how: "fork" as const,
      });
      const recipe: Recipe = { spec, make, isIdentified: true, diskGb: kept.record.diskGb };
      return await vms.placeAs(id, ask, recipe);
    } catch (error) {
      if (error instanceof NotRestorable)
        return refuse(409, "SnapshotNotRestorable", error.message);
      if (error instanceof StateError) return refuse(503, "NoCapacity", error.message);
      throw error;
    }
  }

  removeSnapshot(id: string): Promise<void> {
    return this.#keeper?.remove("snapshot", id) ?? this.#parts.store.remove("snapshot", id);
  }

  async remove(id: string): Promise<void> {
    await this.#lanes.run(id, "remove", async () => {
      await (this.#keeper?.remove("paused", id) ?? this.#parts.store.remove("paused", id));
      if (!this.#parts.vms.get(id)) await this.#parts.volumes.release(id);
    });
    this.#parts.onChange();
  }

  /** Pauses all that run, as many as the time allows. */
  async pauseAll(limitMs: number): Promise<void> {
    const { vms, log } = this.#parts;
    if (!this.#keeper) return;
    const until = Date.now() + limitMs;
    const waiting = [...vms.all];
    const work = async (): Promise<void> => {
      for (let vm = waiting.shift(); vm && Date.now() < until; vm = waiting.shift())
        await this.pause(vm.id).catch((error: unknown) => {
          log.warn({ reason: messageOf(error) }, "a machine could not be paused");
        });
    };
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, limitMs);
    await Promise.race([Promise.all([work(), work()]), late.promise]);
    clearTimeout(timer);
  }

  async #pause(vm: Vm): Promise<Kept> {
    const { vms, store, log } = this.#parts;
    const keeper = this.#open;
    const startedAt = performance.now();
    // What a record says of its disk must be true even if the machine dies at that moment.
    vm.machine.keepDisk(true);
    try {
      const { kept } = await keeper.take(vm, { kind: "paused", id: vm.id, isLive: false });
      vms.release(vm);
      vm.endSockets("paused", CLOSE.paused, "the sandbox was paused");
      await vm.machine.quit();
      await this.#parts.volumes.rested(vm.id);
      const tookMs = Math.round(performance.now() - startedAt);
      log.info({ machine: vm.machine.name, tookMs }, "a machine was paused");
      void this.#lanes.run(vm.id, "tidy", () => keeper.tidy("paused", vm.id));
      return kept;
    } catch (error) {
      vm.machine.keepDisk(false);
      // It may have ended already, with its disk.
      void vm.machine.exited.then(() => store.releaseLayers(vm.machine.layers));
      throw this.#failed(error, "SnapshotFailed");
    }
  }

  /** Starts a machine from a record, in place of `before` or in new room. */
  async #start(
    id: string,
    kept: Kept,
    { self, isolation }: Pick<SnapshotRecord, "self" | "isolation">,
    before?: Vm,
  ): Promise<Vm> {
    const { vms, capacity, hasEgress } = this.#parts;
    // What filtered its packets may be missing in this run of the host.
    const known = { ...self, hasNetwork: self.hasNetwork && hasEgress };
    const { cpu, memMb, diskGb } = kept.record;
    const startedAt = performance.now();
    // The one it takes the place of gives its room back as it ends: for that moment there is more than is counted.
    const room = before ? capacity.force({ cpu, memMb }) : capacity.take({ cpu, memMb });
    if (room === "slots") throw new StateError(503, "NoCapacity", "Every place here is taken.");
    if (room === "size")
      throw new StateError(507, "InsufficientCapacity", "This size does not fit here right now.");
    try {
      await this.#parts.volumes.settle(id);
      const { machine, guest } = await this.#open.start(kept, known, false);
      void machine.exited.then(room);
      const enforcement = { cpu: "vm", memMb: "vm" } as const;
      const acquiredMs = performance.now() - startedAt;
      const got = { cpu, memMb, diskGb, isolation, enforcement, how: "fork" as const, acquiredMs };
      const vm = new Vm(id, machine, guest, got);
      if (before) await this.#replace(before);
      // What it has now, not what it had then.
      if (kept.record.kind === "snapshot") await this.#parts.volumes.remount(id, vm);
      vms.add(vm);
      return vm;
    } catch (error) {
      room();
      throw this.#failed(error, "ResumeFailed");
    }
  }

  async #replace(before: Vm): Promise<void> {
    this.#parts.vms.release(before);
    before.endSockets("running", CLOSE.reverted, "the sandbox was reverted");
    await this.#parts.volumes.unmount(before);
    await before.machine.destroy();
  }

  #paused(id: string, status: 404, code: StateRefused["code"]): Kept {
    const kept = this.#parts.store.get("paused", id);
    if (!kept) throw new StateError(status, code, "There is no such machine here.");
    return kept;
  }

  #absent(id: string): StateError {
    return this.has(id)
      ? new StateError(409, "NotRunning", "This machine is paused.")
      : new StateError(404, "NotRunning", "There is no such machine here.");
  }

  get #open(): RecordKeeper {
    if (!this.#keeper)
      throw new StateError(503, "NoCapacity", "This host is not ready for machines yet.");
    return this.#keeper;
  }

  #failed(error: unknown, code: "SnapshotFailed" | "ResumeFailed"): StateError {
    if (error instanceof StateError) return error;
    const reason = messageOf(error);
    if (error instanceof NotRestorable) return new StateError(409, "SnapshotNotRestorable", reason);
    this.#parts.log.error({ reason }, "a change of state failed");
    return new StateError(503, code, reason);
  }
}

function takenOf(record: SnapshotRecord, stoppedMs: number): SnapshotTaken {
  const { id: snapshotId, sizeBytes, cpu, memMb, diskGb, platform } = record;
  return { snapshotId, sizeBytes, cpu, memMb, diskGb, platform, stoppedMs };
}
