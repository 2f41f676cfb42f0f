import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import type {
  SnapshotTaken,
  VmCheckpointed,
  VmEnded,
  VmParked,
  VmPaused,
  VmResumed,
} from "@svc/contract/host-protocol/vm-states.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { eachUntil } from "@svc/host-kit/deadline.ts";
import { defaultsOf, newSelf, screenOf } from "../guest/identity.ts";
import type { Lanes } from "../lanes.ts";
import type { MachineSource, Placer } from "../machines/placer.ts";
import { StateError, failed, unusedCheck } from "../machines/state-error.ts";
import type { Vm } from "../machines/vm.ts";
import { type Placed, type Vms, refuse } from "../machines/vms.ts";
import type { RecordKeeper } from "../records/keeper.ts";
import type { RecordFinder } from "../records/record-finder.ts";
import type { MachineRecord } from "../records/record.ts";
import type { RecordStore, StoredRecord } from "../records/store.ts";
import { isShare } from "../shared/share-machine.ts";
import type { ShareStates } from "../shared/states.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { RecordStarter } from "./record-starter.ts";
import { absent, endUnused, park } from "./rests.ts";

/** So many machines are paused at once when the host stops. */
const PAUSED_AT_ONCE = 2;

export interface VmStatesParts {
  vms: Vms;
  placer: Placer;
  store: RecordStore;
  keeper: RecordKeeper;
  finder: RecordFinder;
  starter: RecordStarter;
  volumes: Volumes;
  /** A share is paused with its home. */
  shares: ShareStates;
  /** Of changes to a machine. */
  lanes: Lanes;
  hasEgress: boolean;
  log: Log;
  onChange: () => void;
}

/** Changes of a machine's state, for each machine one after the other: pause, resume, snapshot, checkpoint, fork, revert, park. */
export class VmStates {
  readonly #parts: VmStatesParts;

  constructor(parts: VmStatesParts) {
    this.#parts = parts;
  }

  /**
   * Several calls at once are one; a machine that is paused already stays as it is. With `unusedMs` only a machine is paused
   * that nobody has used for so long.
   */
  pause(id: string, unusedMs?: number): Promise<VmPaused> {
    return this.#parts.lanes.join(id, `pause ${unusedMs ?? ""}`, async () => {
      const startedAt = performance.now();
      const record = await this.#pausedRecord(id, unusedMs);
      const tookMs = performance.now() - startedAt;
      return { ...pausedOf(record), tookMs, ...this.#parts.vms.stamp() };
    });
  }

  /** With a `recordId` exactly that record, wherever it is. */
  resume(id: string, org: string, recordId?: string): Promise<VmResumed> {
    const { vms, lanes, log, shares, store, finder, starter } = this.#parts;
    return lanes.join(id, `resume ${recordId ?? ""}`, async () => {
      const startedAt = performance.now();
      if (vms.get(id)) throw new StateError(409, "NotPaused", "This machine is not paused.");
      if (store.homeRecordOf(id))
        return this.#running(await shares.resume(id), performance.now() - startedAt);
      const stored =
        recordId === undefined
          ? finder.paused(id, "NotPaused")
          : await finder.record(id, org, recordId);
      const { self, isolation } = stored.record;
      const vm = await starter.start(stored, { id, org, self, isolation });
      // Not waited for: until then it is paused, as it was, if the host dies.
      void lanes.run(id, "forget", () => this.#afterResume(vm, stored));
      const tookMs = performance.now() - startedAt;
      log.info({ machine: vm.machine.name, tookMs: Math.round(tookMs) }, "machine_resumed");
      return this.#running(vm, tookMs);
    });
  }

  /** Of a running or a paused machine. A repeat gets what the first got. */
  snapshot(id: string, snapshotId: string): Promise<SnapshotTaken> {
    const { store, vms, keeper, finder, shares, lanes, log } = this.#parts;
    return lanes.run(id, "snapshot", async () => {
      const known = store.get("snapshot", snapshotId);
      if (known) return takenOf(known.record, 0);
      shares.refuse(id);
      const vm = vms.get(id);
      try {
        if (!vm) {
          const from = finder.paused(id, "NotRunning");
          const copied = await keeper.copy(from, { kind: "snapshot", id: snapshotId });
          return takenOf(copied.record, 0);
        }
        const wanted = { kind: "snapshot", id: snapshotId, isLive: true } as const;
        const { stored, stoppedMs } = await keeper.take(vm, wanted);
        return takenOf(stored.record, stoppedMs);
      } catch (error) {
        throw failed(error, "SnapshotFailed", log);
      }
    });
  }

  /** Saves a machine that goes on, for when the host dies. The checkpoint before goes once this one is whole. */
  checkpoint(id: string): Promise<VmCheckpointed> {
    const { vms, store, keeper, shares, lanes, log, onChange } = this.#parts;
    return lanes.join(id, "checkpoint", async () => {
      const vm = vms.get(id);
      if (!vm) throw absent(store, id);
      try {
        const { stored, stoppedMs } = isShare(vm)
          ? await shares.checkpoint(vm)
          : await keeper.take(vm, { kind: "checkpoint", id, isLive: true });
        onChange();
        const { sizeBytes, recordId, durable } = stored.record;
        return { sizeBytes, stoppedMs, recordId, durable, ...vms.stamp() };
      } catch (error) {
        throw failed(error, "SnapshotFailed", log);
      }
    });
  }

  /** Takes a sandbox back to a snapshot. The machine of now ends only once the machine of the snapshot answers. */
  revert(id: string, org: string, snapshotId: string): Promise<VmResumed> {
    const { vms, finder, starter, shares, lanes } = this.#parts;
    return lanes.run(id, "revert", async () => {
      const startedAt = performance.now();
      shares.refuse(id);
      const before = vms.get(id);
      const { self: known } = before?.guest ?? finder.paused(id, "NotRunning").record;
      const stored = await finder.snapshot(org, snapshotId);
      if (!stored) throw new StateError(404, "UnknownSnapshot", "There is no such snapshot.");
      const self = { ...known, bootId: newSelf({ envs: {}, hasNetwork: false }).bootId };
      const { isolation } = stored.record;
      const as = { id, org, self, isolation, ...(before && { before }) };
      const vm = await starter.start(stored, as);
      await this.#afterRevert(stored, { id, self, org });
      return this.#running(vm, performance.now() - startedAt);
    });
  }

  park(id: string, unusedMs?: number): Promise<VmParked> {
    return park(this.#parts, id, unusedMs);
  }

  endUnused(id: string, unusedMs: number): Promise<VmEnded> {
    return endUnused(this.#parts, id, unusedMs);
  }

  /** A new sandbox that begins where a snapshot was taken. */
  async fork(id: string, org: string, snapshotId: string, ask: PlaceVm): Promise<Placed> {
    const { finder, placer, log } = this.#parts;
    try {
      const stored = await finder.snapshot(org, snapshotId);
      if (!stored) return refuse(409, "UnknownSnapshot", "There is no such snapshot.");
      return await placer.placeFrom(id, ask, await this.#forkOf(stored, ask));
    } catch (error) {
      const { status, message } = failed(error, "ResumeFailed", log);
      if (status === 409) return refuse(409, "SnapshotNotRestorable", message);
      return refuse(status === 507 ? 507 : 503, "NoCapacity", message);
    }
  }

  /** Pauses all machines that run, as many as the time allows. */
  async pauseAll(limitMs: number): Promise<void> {
    const { vms, log, shares } = this.#parts;
    const ids = vms.all.filter((vm) => !isShare(vm)).map(({ id }) => id);
    const pauses = [() => shares.pauseAll(), ...ids.map((id) => () => this.pause(id))];
    await eachUntil(pauses, { limitMs, atOnce: PAUSED_AT_ONCE }, async (pause) => {
      await pause().catch((error: unknown) => {
        log.warn({ reason: messageOf(error) }, "machine_not_paused");
      });
    });
  }

  /** The record of a machine that is paused, or is paused now. */
  async #pausedRecord(id: string, unusedMs?: number): Promise<MachineRecord> {
    const { vms, shares, store, finder, lanes } = this.#parts;
    const vm = vms.get(id);
    if (!vm) return store.homeRecordOf(id) ?? finder.paused(id, "NotRunning").record;
    const check = unusedCheck(vm, unusedMs);
    check();
    if (isShare(vm)) return shares.pause(vm, check);
    const { record } = await vm.held(() => this.#pause(vm, check));
    void lanes.run(id, "forget", () => store.remove("checkpoint", id));
    return record;
  }

  /** Saves a machine and ends its process. A machine that cannot be saved runs on. */
  async #pause(vm: Vm, check: () => void): Promise<StoredRecord> {
    const { keeper, vms, store, volumes, log } = this.#parts;
    const startedAt = performance.now();
    await volumes.flush(vm);
    // What a record says of its disk must be true even if the machine dies at that moment.
    vm.machine.keepDisk(true);
    try {
      const { stored } = await keeper.take(vm, {
        kind: "paused",
        id: vm.id,
        isLive: false,
        // A request that came while it was saved is answered, and the record dropped.
        check,
      });
      vms.release(vm);
      vm.endSockets("paused", CLOSE_CODES.paused, "the sandbox was paused");
      await vm.machine.quit();
      await volumes.paused(vm.id);
      const tookMs = Math.round(performance.now() - startedAt);
      log.info({ machine: vm.machine.name, tookMs }, "machine_paused");
      return stored;
    } catch (error) {
      vm.machine.keepDisk(false);
      // It may have ended already, with its disk.
      void vm.machine.exited.then(() => store.releaseLayers(vm.machine.layers));
      throw failed(error, "SnapshotFailed", log);
    }
  }

  /** The record of a machine that runs again is no longer needed, unless it is what a crash leaves of the machine. */
  async #afterResume(vm: Vm, stored: StoredRecord): Promise<void> {
    const { store, onChange } = this.#parts;
    const { kind, recordId, org, isCheckpointed } = stored.record;
    // The machine is over already: it is paused as before, and nobody has used it in between.
    if (vm.isOver && kind === "paused") return;
    const { id } = vm;
    if (isCheckpointed) await store.change(stored, { kind: "checkpoint", id });
    else if (kind === "copy" && org !== null) await store.bury({ org, recordId });
    await store.remove("copy", recordId);
    await store.remove("paused", id);
    onChange();
  }

  /** A machine that had a checkpoint has the snapshot as its checkpoint from now on. */
  async #afterRevert(
    snapshot: StoredRecord,
    as: { id: string; self: MachineRecord["self"]; org: string },
  ): Promise<void> {
    const { store, keeper } = this.#parts;
    const { id } = as;
    const hasCheckpoint =
      store.get("checkpoint", id) ?? store.get("paused", id)?.record.isCheckpointed ?? false;
    if (hasCheckpoint) await keeper.copy(snapshot, { kind: "checkpoint", ...as });
    await store.remove("paused", id);
  }

  /** How the machine of a fork is made. Throws `NotRestorable`. */
  async #forkOf(
    stored: StoredRecord,
    { envs, isolation, resolution }: Pick<PlaceVm, "envs" | "isolation" | "resolution">,
  ): Promise<MachineSource> {
    const { keeper, hasEgress } = this.#parts;
    const saved = await keeper.savedMachineOf(stored);
    const hasNetwork = isolation !== "hardened" && hasEgress;
    const before = stored.record.self;
    const { kind } = before;
    const fresh = newSelf({ kind, envs: { ...before.envs, ...envs }, hasNetwork });
    const self = { ...fresh, ...defaultsOf(before), ...screenOf({ resolution }) };
    const make = async () => {
      const { machine, guest } = await keeper.start(stored, self, true, saved);
      return { machine, guest, how: "fork" as const };
    };
    return { spec: saved.spec, make, isIdentified: true, diskGb: saved.diskGb };
  }

  #running(vm: Vm, tookMs: number): VmResumed {
    const { how: _how, enforcement: _enforcement, acquiredMs: _acquired, ...got } = vm.placed;
    const screen = screenOf(vm.guest.self);
    return { ...got, ...screen, state: "running", tookMs, ...this.#parts.vms.stamp() };
  }
}

/** What a pause answers, but for its time. */
export function pausedOf({ sizeBytes, recordId, durable }: MachineRecord) {
  return { state: "paused" as const, sizeBytes, recordId, durable };
}

function takenOf(record: MachineRecord, stoppedMs: number): SnapshotTaken {
  const { id: snapshotId, sizeBytes, cpu, memMb, diskGb, platform, durable } = record;
  return { snapshotId, sizeBytes, cpu, memMb, diskGb, platform, durable, stoppedMs };
}
