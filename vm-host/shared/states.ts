import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { VmReport } from "@svc/contract/host-protocol/vms.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import { Lanes } from "../lanes.ts";
import { type RestingShare, type SnapshotRecord, lifeOf } from "../snapshots/record.ts";
import { StateError, failed } from "../states/state-error.ts";
import type { Kept, Store } from "../snapshots/store.ts";
import type { Vm } from "../machines/vm.ts";
import type { Vms } from "../machines/vms.ts";
import type { Home, Tenant } from "./home.ts";
import type { SharedPool } from "./machines.ts";
import { ShareMachine } from "./share-machine.ts";

const isCheckpoint = true as const;

export interface RestsParts {
  pool: SharedPool;
  vms: Vms;
  store: Store;
  hasEgress: boolean;
  log: Log;
}

/**
 * Shares that rest. Each pause saves the whole machine, in which the share stands still: its record holds every share
 * that rests then. While others run the machine goes on; when none does it ends, and the record is all of it.
 */
export class SharedRests {
  readonly #parts: RestsParts;
  /** Acts on a machine, one after the other. */
  readonly #lanes = new Lanes();
  #keeper: RecordKeeper | null = null;

  constructor(parts: RestsParts) {
    this.#parts = parts;
    // All that is left in it rests, and is in its record.
    parts.pool.onIdle = (home) => parts.pool.end(home);
  }

  open(keeper: RecordKeeper): void {
    this.#keeper = keeper;
  }

  reports(): VmReport[] {
    const { vms } = this.#parts;
    return this.#records().flatMap(({ recordId, home }) =>
      (home?.shares ?? [])
        .filter(({ id }) => !vms.get(id))
        .map(({ id, lastActivityAt }): VmReport => {
          return { id, state: "paused", lastActivityAt, recordId, durable: false };
        }),
    );
  }

  /** The last checkpoint of a share that runs, for its report. */
  checkpointOf(id: string): Partial<VmReport> {
    const record = this.recordOf(id);
    if (!record) return {};
    const { recordId, durable, createdAt: checkpointAt } = record;
    return { recordId, durable, checkpointAt };
  }

  isShare(vm: Vm | undefined): vm is Vm {
    return vm?.machine instanceof ShareMachine;
  }

  /** The record in which a sandbox's share rests. */
  recordOf(id: string): SnapshotRecord | undefined {
    return this.#records().find(({ home }) => home?.shares.some((rest) => rest.id === id));
  }

  /** A share is not saved by itself: what was saved is its whole machine. */
  refuse(id: string): void {
    if (this.isShare(this.#parts.vms.get(id)) || this.recordOf(id))
      throw new StateError(409, "HostCapabilityMissing", "A share has no snapshots of its own.");
  }

  /** Lets a share stand still and saves it. */
  async pause(vm: Vm): Promise<SnapshotRecord> {
    const { home, tenant } = this.#tenantOf(vm);
    return this.#lanes.run(home.id, "pause", async () => {
      try {
        tenant.rest = await home.still(tenant);
        const { kept } = await this.#save(home);
        return kept.record;
      } catch (error) {
        tenant.rest = null;
        await vm.machine.cont().catch(() => null);
        throw failed(error, "SnapshotFailed", this.#parts.log);
      }
    });
  }

  /** Saves a share that goes on: it stands still meanwhile, and its whole machine for a moment. */
  async checkpoint(vm: Vm): Promise<{ kept: Kept; stoppedMs: number }> {
    const { home, tenant } = this.#tenantOf(vm);
    return this.#lanes.run(home.id, "checkpoint", async () => {
      tenant.isCheckpointed = true;
      return this.#save(home);
    });
  }

  /** Lets a share go on, in its machine or in one that goes on from the record. */
  async resume(id: string): Promise<Vm> {
    const found = this.recordOf(id);
    if (!found) throw new StateError(404, "NotPaused", "There is no such machine here.");
    return this.#lanes.run(found.id, "resume", async () => {
      const kept = this.#parts.store.get("shared", found.id);
      const rest = kept?.record.home?.shares.find((one) => one.id === id);
      if (!kept || !rest) throw new StateError(404, "NotPaused", "There is no such machine here.");
      try {
        const home = this.#homeOf(kept) ?? (await this.#restore(kept));
        const vm = await this.#wake(home, rest);
        await this.#forget(kept, id);
        return vm;
      } catch (error) {
        throw failed(error, "ResumeFailed", this.#parts.log);
      }
    });
  }

  /** A share has ended. True when it rests in a record from now on: not while the machine that it was in goes on without it. */
  async fell(id: string): Promise<boolean> {
    const record = this.recordOf(id);
    if (!record) return false;
    const home = [...this.#parts.pool.homes].find((one) => one.id === record.id);
    return !home || home.hasEnded();
  }

  /** Forgets a share that rests. */
  async remove(id: string): Promise<void> {
    const found = this.recordOf(id);
    if (!found) return;
    await this.#lanes.run(found.id, "remove", async () => {
      const kept = this.#parts.store.get("shared", found.id);
      const rest = kept?.record.home?.shares.find((one) => one.id === id);
      if (!kept || !rest) return;
      await this.#forget(kept, id);
      await this.#homeOf(kept)?.drop(rest.share.id);
    });
  }

  /** Saves every machine with all that runs in it. */
  async pauseAll(): Promise<void> {
    const { log, pool } = this.#parts;
    const pausing = [...pool.homes].map((home) =>
      this.#lanes.run(home.id, "pause all", async () => {
        home.isOpen = false;
        const awake = [...home.tenants.values()].filter(({ rest }) => rest === null);
        const stills = await Promise.all(awake.map((tenant) => home.still(tenant)));
        for (const [index, tenant] of awake.entries()) tenant.rest = stills[index] ?? null;
        await this.#save(home);
      }),
    );
    for (const one of await Promise.allSettled(pausing))
      if (one.status === "rejected")
        log.warn({ reason: messageOf(one.reason) }, "a machine of shares could not be paused");
  }

  /** Saves a machine; where nothing runs any more it ends. Those that rest are no longer machines of their sandboxes. */
  async #save(home: Home): Promise<{ kept: Kept; stoppedMs: number }> {
    const tenants = [...home.tenants.values()];
    const isLive = tenants.some(({ rest }) => rest === null);
    const wasOpen = home.isOpen;
    const { machine } = home;
    // What a record says of its disk must be true even if the machine dies at that moment.
    if (!isLive) machine.keepDisk(true);
    if (!isLive) home.isOpen = false;
    const moving = tenants.filter(({ rest, isCheckpointed }) => !rest && isCheckpointed);
    try {
      const stills = await Promise.all(moving.map((tenant) => home.still(tenant)));
      const checkpoints = stills.flatMap((still) => (still ? [{ ...still, isCheckpoint }] : []));
      const record = home.recordWith(checkpoints);
      const wish = { kind: "shared", id: home.id, isLive, home: record } as const;
      const taken = await this.#open.take(home.whole, wish);
      for (const tenant of tenants) this.#leave(tenant);
      if (!isLive) {
        this.#parts.pool.homes.delete(home);
        await machine.quit();
      }
      return taken;
    } catch (error) {
      home.isOpen = wasOpen;
      machine.keepDisk(false);
      throw error;
    } finally {
      for (const { vm } of moving) await vm?.machine.cont().catch(() => null);
    }
  }

  /** Nobody reaches a share that rests. */
  #leave(tenant: Tenant): void {
    const { vm, rest } = tenant;
    if (!vm || !rest) return;
    this.#parts.vms.release(vm);
    vm.endSockets("paused", CLOSE_CODES.paused, "the sandbox was paused");
    if (vm.machine instanceof ShareMachine) vm.machine.leave();
    tenant.vm = null;
  }

  /** Starts a machine from its record; what ran in it when it was saved has ended. */
  async #restore(kept: Kept): Promise<Home> {
    const { pool, hasEgress } = this.#parts;
    const { record } = kept;
    if (!record.home) throw new Error("a record of no shares");
    const { org, ground, shares } = record.home;
    const self = { ...record.self, hasNetwork: record.self.hasNetwork && hasEgress };
    const home = await pool.open(record, async () => {
      const started = await this.#open.start(kept, self, false);
      return { ...started, org, ground, how: "fork" as const, id: record.id };
    });
    for (const rest of shares) home.take(rest.share, rest);
    await home.guest.control.ask("shares.keep", { ids: shares.map(({ share }) => share.id) });
    return home;
  }

  async #wake(home: Home, rest: RestingShare): Promise<Vm> {
    const { vms, hasEgress } = this.#parts;
    const { id, share } = rest;
    const freeze = (isFrozen: boolean) =>
      home.guest.control.ask("shares.freeze", { id: share.id, isFrozen });
    try {
      await freeze(false);
      const self = { ...rest.self, hasNetwork: rest.self.hasNetwork && hasEgress };
      const vm = await home.wake(share, { id, self, life: lifeOf(rest) }, "fork");
      vm.org = home.org;
      vms.add(vm);
      return vm;
    } catch (error) {
      // What it did meanwhile is lost with the machine: the record is what counts.
      await freeze(true).catch(() => null);
      if (home.resting.length === home.tenants.size) await this.#parts.pool.end(home);
      throw error;
    }
  }

  /** A share no longer rests in a record; one in which none rests is no longer needed. */
  async #forget(kept: Kept, id: string): Promise<void> {
    const { store } = this.#parts;
    const { home } = kept.record;
    const shares = home?.shares.filter((rest) => rest.id !== id) ?? [];
    if (home && shares.length > 0) await store.change(kept, { home: { ...home, shares } });
    else await store.remove("shared", kept.record.id);
  }

  #tenantOf(vm: Vm): { home: Home; tenant: Tenant } {
    for (const home of this.#parts.pool.homes)
      for (const tenant of home.tenants.values()) if (tenant.vm === vm) return { home, tenant };
    throw new StateError(404, "NotRunning", "There is no such machine here.");
  }

  #homeOf({ record }: Kept): Home | undefined {
    return [...this.#parts.pool.homes].find(({ id, isOpen }) => id === record.id && isOpen);
  }

  #records(): SnapshotRecord[] {
    return this.#parts.store.all("shared");
  }

  get #open(): RecordKeeper {
    if (this.#keeper) return this.#keeper;
    throw new StateError(503, "NoCapacity", "This host is not ready for machines yet.");
  }
}
