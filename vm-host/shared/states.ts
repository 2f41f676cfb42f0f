import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { lifeOf } from "../life.ts";
import { StateError, failed } from "../machines/state-error.ts";
import type { Vm } from "../machines/vm.ts";
import type { Vms } from "../machines/vms.ts";
import type { RecordKeeper } from "../records/keeper.ts";
import type { MachineRecord, SavedShare } from "../records/record.ts";
import type { RecordStore, StoredRecord } from "../records/store.ts";
import type { Home, Tenant } from "./home.ts";
import type { Homes } from "./homes.ts";
import type { SharedMachines } from "./machines.ts";
import { ShareMachine, isShare } from "./share-machine.ts";
import type { ShareRecords } from "./share-records.ts";

const isCheckpoint = true as const;

export interface ShareStatesParts {
  homes: Homes;
  machines: SharedMachines;
  records: ShareRecords;
  keeper: RecordKeeper;
  vms: Vms;
  store: RecordStore;
  hasEgress: boolean;
  log: Log;
}

/**
 * Pause, resume and checkpoint of shares. Each pause saves the whole home, in which the share stands still: the record holds
 * every share that is paused then. While other shares run the home goes on; when none does it ends.
 */
export class ShareStates {
  readonly #parts: ShareStatesParts;

  constructor(parts: ShareStatesParts) {
    this.#parts = parts;
  }

  /** Throws for a share: a share is not saved by itself, only its whole home is. */
  refuse(id: string): void {
    const { vms, store } = this.#parts;
    if (isShare(vms.get(id)) || store.homeRecordOf(id))
      throw new StateError(409, "HostCapabilityMissing", "A share has no snapshots of its own.");
  }

  /** Lets a share stand still and saves it, unless `check` throws. */
  async pause(vm: Vm, check: () => void): Promise<MachineRecord> {
    const { home, tenant } = this.#parts.homes.tenantOf(vm);
    return this.#parts.homes.lanes.run(home.id, "pause", async () => {
      check();
      try {
        tenant.paused = await home.freeze(tenant);
        const { stored } = await this.#save(home);
        return stored.record;
      } catch (error) {
        tenant.paused = null;
        await vm.machine.cont().catch(() => null);
        throw failed(error, "SnapshotFailed", this.#parts.log);
      }
    });
  }

  /** Saves a share that goes on: the share stands still meanwhile, and its home for a moment. */
  async checkpoint(vm: Vm): Promise<{ stored: StoredRecord; stoppedMs: number }> {
    const { home, tenant } = this.#parts.homes.tenantOf(vm);
    return this.#parts.homes.lanes.run(home.id, "checkpoint", async () => {
      tenant.isCheckpointed = true;
      return this.#save(home);
    });
  }

  /** Lets a share go on, in its home or in a home that is started from the record. */
  async resume(id: string): Promise<Vm> {
    const found = this.#parts.store.homeRecordOf(id);
    if (!found) throw new StateError(404, "NotPaused", "There is no such machine here.");
    return this.#parts.homes.lanes.run(found.id, "resume", async () => {
      const stored = this.#parts.store.get("home", found.id);
      const saved = stored?.record.home?.shares.find((share) => share.id === id);
      if (!stored || !saved)
        throw new StateError(404, "NotPaused", "There is no such machine here.");
      try {
        const home = this.#parts.homes.getOpen(found.id) ?? (await this.#restore(stored));
        const vm = await this.#wake(home, saved);
        await this.#parts.records.forget(stored, id);
        return vm;
      } catch (error) {
        throw failed(error, "ResumeFailed", this.#parts.log);
      }
    });
  }

  /** Pauses every home with all that runs in it. */
  async pauseAll(): Promise<void> {
    const { log, homes } = this.#parts;
    const pausing = [...homes.all].map((home) =>
      this.#parts.homes.lanes.run(home.id, "pause all", async () => {
        home.isOpen = false;
        const awake = [...home.tenants.values()].filter(({ paused }) => paused === null);
        const frozen = await Promise.all(awake.map((tenant) => home.freeze(tenant)));
        for (const [index, tenant] of awake.entries()) tenant.paused = frozen[index] ?? null;
        await this.#save(home);
      }),
    );
    for (const one of await Promise.allSettled(pausing))
      if (one.status === "rejected") log.warn({ reason: messageOf(one.reason) }, "home_not_paused");
  }

  /** Saves a home; a home in which nothing runs any more ends. Paused shares are no longer machines of their sandboxes. */
  async #save(home: Home): Promise<{ stored: StoredRecord; stoppedMs: number }> {
    const tenants = [...home.tenants.values()];
    const isLive = tenants.some(({ paused }) => paused === null);
    const wasOpen = home.isOpen;
    const { machine } = home;
    // What a record says of its disk must be true even if the machine dies at that moment.
    if (!isLive) machine.keepDisk(true);
    if (!isLive) home.isOpen = false;
    const moving = tenants.filter(({ paused, isCheckpointed }) => !paused && isCheckpointed);
    try {
      const frozen = await Promise.all(moving.map((tenant) => home.freeze(tenant)));
      const checkpoints = frozen.flatMap((one) => (one ? [{ ...one, isCheckpoint }] : []));
      const record = home.recordWith(checkpoints);
      const wish = { kind: "home", id: home.id, isLive, home: record } as const;
      const taken = await this.#parts.keeper.take(home.whole, wish);
      for (const tenant of tenants) this.#leave(tenant);
      if (!isLive) {
        this.#parts.homes.all.delete(home);
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

  /** Nobody reaches a paused share. */
  #leave(tenant: Tenant): void {
    const { vm, paused } = tenant;
    if (!vm || !paused) return;
    this.#parts.vms.release(vm);
    vm.endSockets("paused", CLOSE_CODES.paused, "the sandbox was paused");
    if (vm.machine instanceof ShareMachine) vm.machine.leave();
    tenant.vm = null;
  }

  /** Starts a home from its record; shares that ran when it was saved have ended. */
  async #restore(stored: StoredRecord): Promise<Home> {
    const { machines, hasEgress } = this.#parts;
    const { record } = stored;
    if (!record.home) throw new Error("the record is not of a home");
    const { org, ground: bootKey, shares } = record.home;
    const self = { ...record.self, hasNetwork: record.self.hasNetwork && hasEgress };
    const home = await machines.open(record, async () => {
      const started = await this.#parts.keeper.start(stored, self, false);
      return { ...started, org, bootKey, how: "fork" as const, id: record.id };
    });
    for (const saved of shares) home.take(saved.share, saved);
    await home.guest.control.ask("shares.keep", { ids: shares.map(({ share }) => share.id) });
    return home;
  }

  async #wake(home: Home, saved: SavedShare): Promise<Vm> {
    const { vms, hasEgress } = this.#parts;
    const { id, share } = saved;
    const freeze = (isFrozen: boolean) =>
      home.guest.control.ask("shares.freeze", { id: share.id, isFrozen });
    try {
      await freeze(false);
      const self = { ...saved.self, hasNetwork: saved.self.hasNetwork && hasEgress };
      const vm = await home.wake(share, { id, self, life: lifeOf(saved) }, "fork");
      vm.org = home.org;
      vms.add(vm);
      return vm;
    } catch (error) {
      // What it did meanwhile is lost with the machine: the record is what counts.
      await freeze(true).catch(() => null);
      if (home.isIdle) await this.#parts.machines.end(home);
      throw error;
    }
  }
}
