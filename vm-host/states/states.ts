import type { PlaceVm, VmReport } from "@svc/contract/host-protocol/vms.ts";
import type {
  SnapshotTaken,
  VmCheckpointed,
  VmParked,
  VmPaused,
  VmResumed,
} from "@svc/contract/host-protocol/vm-states.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { newSelf } from "../guest/identity.ts";
import type { Capacity } from "../machines/capacity.ts";
import type { Vm } from "../machines/vm.ts";
import { type Asleep, type Placed, type Vms, refuse } from "../machines/vms.ts";
import type { SharedRests } from "../shared/states.ts";
import type { Fetcher } from "../snapshots/fetcher.ts";
import { Finder } from "../snapshots/finder.ts";
import { forkOf } from "./fork.ts";
import { afterFall, afterResume, afterRevert } from "./what-follows.ts";
import { inTime } from "./in-time.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import { Lanes } from "../lanes.ts";
import type { SnapshotRecord } from "../snapshots/record.ts";
import { pauseMachine } from "./pause.ts";
import { type ReviveParts, revive } from "./start-from-record.ts";
import { StateError, failed } from "./state-error.ts";
import type { Store } from "../snapshots/store.ts";

export interface StatesParts {
  vms: Vms;
  store: Store;
  capacity: Capacity;
  volumes: ReviveParts["volumes"];
  hasEgress: boolean;
  /** Shares rest with their machine. */
  shared: SharedRests;
  log: Log;
  onChange: () => void;
}

/** Makes records, and gets those of other hosts. */
interface Means {
  keeper: RecordKeeper;
  fetcher: Fetcher;
}

/** Pause, resume, snapshot, checkpoint, fork, revert and park: acts on machines, for each one after the other. */
export class VmStates implements Asleep {
  readonly #parts: StatesParts;
  readonly #lanes = new Lanes();
  readonly #finder: Finder;
  #means: Means | null = null;

  constructor(parts: StatesParts) {
    this.#parts = parts;
    this.#finder = new Finder({ ...parts, fetcher: () => this.#open.fetcher });
  }

  /** Machines can be saved and made from now on. */
  open(means: Means): void {
    this.#means = means;
    this.#parts.shared.open(means.keeper);
  }

  reports(): VmReport[] {
    const { store, shared } = this.#parts;
    const own = store.all("paused").map(({ id, lastActivityAt, recordId, durable }): VmReport => {
      return { id, state: "paused", lastActivityAt, recordId, durable };
    });
    return [...own, ...shared.reports()];
  }

  checkpointOf(id: string): Partial<VmReport> {
    const record = this.#parts.store.get("checkpoint", id)?.record;
    if (!record) return this.#parts.shared.checkpointOf(id);
    const { recordId, durable, createdAt: checkpointAt } = record;
    return { recordId, durable, checkpointAt };
  }

  has(id: string): boolean {
    const { store, shared } = this.#parts;
    return store.get("paused", id) !== undefined || shared.recordOf(id) !== undefined;
  }

  /** Many at once are one; of one that is paused it is that. */
  pause(id: string): Promise<VmPaused> {
    return this.#lanes.join(id, "pause", async () => {
      const startedAt = performance.now();
      const record = await this.#restOf(id);
      const tookMs = performance.now() - startedAt;
      const { sizeBytes, recordId, durable } = record;
      const stamp = this.#parts.vms.stamp();
      return { state: "paused", sizeBytes, tookMs, recordId, durable, ...stamp };
    });
  }

  /** With a `recordId` exactly that record, wherever it is. */
  resume(id: string, org: string, recordId?: string): Promise<VmResumed> {
    return this.#lanes.join(id, `resume ${recordId ?? ""}`, async () => {
      const startedAt = performance.now();
      const { vms, log, shared } = this.#parts;
      if (vms.get(id)) throw new StateError(409, "NotPaused", "This machine is not paused.");
      if (shared.recordOf(id))
        return this.#running(await shared.resume(id), performance.now() - startedAt);
      const kept =
        recordId === undefined
          ? this.#finder.paused(id, "NotPaused")
          : await this.#finder.record(id, org, recordId);
      const { self, isolation } = kept.record;
      const vm = await revive(this.#reviving, kept, { id, org, self, isolation });
      // Not waited for: until then it is paused, as it was, if the host dies.
      void this.#lanes.run(id, "forget", () => afterResume(this.#parts, vm, kept));
      const tookMs = performance.now() - startedAt;
      log.info({ machine: vm.machine.name, tookMs: Math.round(tookMs) }, "a machine was resumed");
      return this.#running(vm, tookMs);
    });
  }

  /** Of a running or a paused machine. A repeat gets what the first got. */
  snapshot(id: string, snapshotId: string): Promise<SnapshotTaken> {
    return this.#lanes.run(id, "snapshot", async () => {
      const { store, vms, log } = this.#parts;
      const known = store.get("snapshot", snapshotId);
      if (known) return takenOf(known.record, 0);
      this.#parts.shared.refuse(id);
      const { keeper } = this.#open;
      const vm = vms.get(id);
      try {
        if (!vm) {
          const from = this.#finder.paused(id, "NotRunning");
          const copied = await keeper.copy(from, { kind: "snapshot", id: snapshotId });
          return takenOf(copied.record, 0);
        }
        const wish = { kind: "snapshot", id: snapshotId, isLive: true } as const;
        const { kept, stoppedMs } = await keeper.take(vm, wish);
        return takenOf(kept.record, stoppedMs);
      } catch (error) {
        throw failed(error, "SnapshotFailed", log);
      }
    });
  }

  /** Saves a machine that goes on: what is left of it if the host dies. The one before goes once this one is whole. */
  checkpoint(id: string): Promise<VmCheckpointed> {
    return this.#lanes.join(id, "checkpoint", async () => {
      const { vms, log, shared, onChange } = this.#parts;
      const vm = vms.get(id);
      if (!vm) throw this.#absent(id);
      try {
        const wish = { kind: "checkpoint", id, isLive: true } as const;
        const { kept, stoppedMs } = shared.isShare(vm)
          ? await shared.checkpoint(vm)
          : await this.#open.keeper.take(vm, wish);
        onChange();
        const { sizeBytes, recordId, durable } = kept.record;
        return { sizeBytes, stoppedMs, recordId, durable, ...vms.stamp() };
      } catch (error) {
        throw failed(error, "SnapshotFailed", log);
      }
    });
  }

  /** Becomes what it was. The machine that it is now ends only once the other one answers. */
  revert(id: string, org: string, snapshotId: string): Promise<VmResumed> {
    return this.#lanes.run(id, "revert", async () => {
      const startedAt = performance.now();
      this.#parts.shared.refuse(id);
      const { vms } = this.#parts;
      const before = vms.get(id);
      const { self: known } = before?.guest ?? this.#finder.paused(id, "NotRunning").record;
      const kept = await this.#finder.snapshot(org, snapshotId);
      if (!kept) throw new StateError(404, "UnknownSnapshot", "There is no such snapshot.");
      const self = { ...known, bootId: newSelf({}, false).bootId };
      const { isolation } = kept.record;
      const as = { id, org, self, isolation, ...(before && { before }) };
      const vm = await revive(this.#reviving, kept, as);
      await afterRevert({ ...this.#parts, keeper: this.#open.keeper }, kept, { id, self, org });
      return this.#running(vm, performance.now() - startedAt);
    });
  }

  park(id: string): Promise<VmParked> {
    return this.#lanes.join(id, "park", async () => {
      const vm = this.#parts.vms.get(id);
      if (!vm) throw this.#absent(id);
      await this.#parts.volumes.flush(vm);
      await vm.park();
      return { state: "running", parked: true };
    });
  }

  /** A new machine that begins where a snapshot was taken, and is somebody else. */
  async fork(id: string, org: string, snapshotId: string, ask: PlaceVm): Promise<Placed> {
    const { log } = this.#parts;
    try {
      const { keeper } = this.#open;
      const kept = await this.#finder.snapshot(org, snapshotId);
      if (!kept) return refuse(409, "UnknownSnapshot", "There is no such snapshot.");
      const recipe = await forkOf(keeper, kept, ask, this.#parts.hasEgress);
      return await this.#parts.vms.placeAs(id, ask, recipe);
    } catch (error) {
      const { status, message } = failed(error, "ResumeFailed", log);
      if (status === 409) return refuse(409, "SnapshotNotRestorable", message);
      return refuse(status === 507 ? 507 : 503, "NoCapacity", message);
    }
  }

  /** Forgets a snapshot, here and in the object store, also one that another host took. */
  async removeSnapshot(id: string, org: string): Promise<void> {
    const { store } = this.#parts;
    if (!store.get("snapshot", id)) await store.bury({ org, recordId: id });
    await store.remove("snapshot", id);
    await store.remove("copy", id);
  }

  /** What is under way with it has failed by now. */
  fell(id: string): Promise<boolean> {
    return this.#lanes.run(id, "fall", () => afterFall(this.#parts, id));
  }

  async remove(id: string): Promise<void> {
    await this.#lanes.run(id, "remove", async () => {
      await this.#parts.store.remove("paused", id);
      await this.#parts.store.remove("checkpoint", id);
      await this.#parts.shared.remove(id);
    });
    this.#parts.onChange();
  }

  /** Pauses all that run, as many as the time allows. */
  async pauseAll(limitMs: number): Promise<void> {
    if (!this.#means) return;
    const { vms, log, shared } = this.#parts;
    const ids = vms.all.filter((vm) => !shared.isShare(vm)).map(({ id }) => id);
    const acts = [() => shared.pauseAll(), ...ids.map((id) => () => this.pause(id))];
    await inTime(acts, limitMs, async (act) => {
      await act().catch((error: unknown) => {
        log.warn({ reason: messageOf(error) }, "a machine could not be paused");
      });
    });
  }

  /** Makes few layers of the many of a paused machine's disk. */
  tidy(id: string): Promise<void> {
    return this.#lanes.run(id, "tidy", () => this.#open.keeper.tidy("paused", id));
  }

  /** The record of a machine that rests, or does so now. */
  async #restOf(id: string): Promise<SnapshotRecord> {
    const { vms, shared, store } = this.#parts;
    const vm = vms.get(id);
    if (!vm) return shared.recordOf(id) ?? this.#finder.paused(id, "NotRunning").record;
    if (shared.isShare(vm)) return shared.pause(vm);
    const { record } = await pauseMachine({ ...this.#parts, keeper: this.#open.keeper }, vm);
    void this.#lanes.run(id, "forget", () => store.remove("checkpoint", id));
    return record;
  }

  #running(vm: Vm, tookMs: number): VmResumed {
    const { how: _how, enforcement: _enforcement, acquiredMs: _acquired, ...got } = vm.placed;
    return { ...got, state: "running", tookMs, ...this.#parts.vms.stamp() };
  }

  #absent(id: string): StateError {
    return this.has(id)
      ? new StateError(409, "NotRunning", "This machine is paused.")
      : new StateError(404, "NotRunning", "There is no such machine here.");
  }

  get #reviving(): ReviveParts {
    return { ...this.#parts, keeper: this.#open.keeper };
  }

  get #open(): Means {
    if (!this.#means)
      throw new StateError(503, "NoCapacity", "This host is not ready for machines yet.");
    return this.#means;
  }
}

function takenOf(record: SnapshotRecord, stoppedMs: number): SnapshotTaken {
  const { id: snapshotId, sizeBytes, cpu, memMb, diskGb, platform, durable } = record;
  return { snapshotId, sizeBytes, cpu, memMb, diskGb, platform, durable, stoppedMs };
}
