import { rm } from "node:fs/promises";
import type { Log } from "@svc/host-kit/log.ts";
import { isThere, nameOf, sizeOf } from "../disk/files.ts";
import {
  type GoldenMachine,
  type Machine,
  type MachineSpec,
  NotRestorable,
  type SavedMachine,
  type VmDriver,
} from "../driver.ts";
import type { GoldenMachines } from "../golden/golden-machines.ts";
import { Guest } from "../guest/guest.ts";
import type { Self } from "../guest/identity.ts";
import { initrdOf } from "../images/initrd.ts";
import { Manifest, imageOf, imagesIn } from "../images/store.ts";
import { lifeOf, storedLife } from "../life.ts";
import { ANSWER_MS } from "../machines/maker.ts";
import type { Vm } from "../machines/vm.ts";
import { dropThrowaways, fitting, marked } from "../volumes/throwaway.ts";
import { platformFault, platformOf } from "./platform.ts";
import { Promotion } from "./promotion.ts";
import { type MachineRecord, RECORD_VERSION, type SavedHome, recordIdOf } from "./record.ts";
import type { RecordStore, StoredRecord } from "./store.ts";

/** Each layer costs every read of the disk a look. */
export const MOST_LAYERS = 8;

export interface KeeperOptions {
  driver: VmDriver;
  goldenMachines: GoldenMachines;
  store: RecordStore;
  cacheDir: string;
  log: Log;
}

/** A record that is to be made. */
export interface NewRecord {
  kind: "paused" | "checkpoint" | "snapshot" | "step" | "home";
  id: string;
  /** The machine goes on after. */
  isLive: boolean;
  /** Throws when the record is not wanted any more, once the machine is saved: the machine then goes on. */
  check?: () => void;
  /** Of a home. */
  home?: SavedHome;
}

/** A copy of a record that is to be made, with what it says differently. */
export type NewCopy = Pick<NewRecord, "kind" | "id"> &
  Partial<Pick<MachineRecord, "self" | "org" | "isCheckpointed">>;

/** A machine that was started from a record, and knows who it is. */
export interface Started {
  machine: Machine;
  guest: Guest;
}

/** Makes records of machines, and machines of records. */
export class RecordKeeper {
  readonly #options: KeeperOptions;
  readonly #promotion: Promotion;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#promotion = new Promotion(options);
  }

  /** Saves a machine. With `isLive` it stands still for `stoppedMs` and goes on, whatever happens; else it stays stopped. */
  async take(vm: Vm, wanted: NewRecord): Promise<{ stored: StoredRecord; stoppedMs: number }> {
    return vm.held(() => this.#take(vm, wanted));
  }

  async #take(vm: Vm, { kind, id, isLive, home, check }: NewRecord) {
    const { store } = this.#options;
    const recordId = recordIdOf({ kind, id });
    const draft = await store.draft(kind, recordId);
    try {
      const { saved, stoppedMs } = await this.#save(vm, draft, isLive);
      const record = await this.#recordOf(vm, saved, { kind, id, recordId });
      if (home) record.home = home;
      check?.();
      return { stored: await this.keep(draft, record, saved.golden), stoppedMs };
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (!isLive) await this.#goOn(vm);
      throw error;
    }
  }

  /** Copies a record: its files never change, so they are the same files. */
  async copy(from: StoredRecord, { kind, id, ...facts }: NewCopy): Promise<StoredRecord> {
    const { store } = this.#options;
    const recordId = recordIdOf({ kind, id });
    const draft = await store.draft(kind, recordId);
    await store.linkFiles(from, draft);
    const as = { isCheckpointed: kind === "checkpoint", ...facts, kind, id, recordId };
    const record = { ...from.record, ...FRESH, ...as, createdAt: Date.now() };
    return this.keep(draft, record, await this.#goldenOf(record, this.specOf(record)));
  }

  /** Makes a draft a record, which holds its golden machine from now on. */
  async keep(
    draft: string,
    record: MachineRecord,
    golden: GoldenMachine | null,
  ): Promise<StoredRecord> {
    const stored = await this.#options.store.commit(draft, record);
    const { folder } = stored;
    if (golden) await this.#options.goldenMachines.holds.hold(golden.key, nameOf(folder), folder);
    return stored;
  }

  /** What a machine needs to go on from a record. Throws `NotRestorable` before anything is tried. */
  async savedMachineOf({ folder, record }: StoredRecord): Promise<SavedMachine> {
    const { mode, diskGb } = record;
    const spec = this.specOf(record);
    await this.checkPlatform(record);
    const golden = await this.#goldenOf(record, spec);
    if (record.platform.template && !golden)
      throw new NotRestorable(
        "The golden machine that the snapshot builds on is not on this host.",
      );
    const layers = this.#options.store.pathsOf(record);
    const volumes = await fitting(record.volumes, record.kind === "paused");
    return { spec, mode, folder, golden, layers, diskGb, volumes };
  }

  /** Throws `NotRestorable` where machines like that of a record cannot run. */
  async checkPlatform({ platform, ...record }: MachineRecord): Promise<void> {
    const spec = this.specOf(record);
    const fault = platformFault(platform, platformOf(this.#options.driver, spec, null));
    if (fault !== null) throw new NotRestorable(fault);
    if (!(await isThere(spec.image.disk)))
      throw new NotRestorable(`The image ${platform.image} is not on this host.`);
  }

  specOf({ agent, image, cpu, memMb }: Omit<MachineRecord, "platform">): MachineSpec {
    const { cacheDir } = this.#options;
    const initrd = initrdOf(cacheDir, agent);
    return { image: imageOf(imagesIn(cacheDir), image), initrd, cpu, memMb };
  }

  async #goldenOf({ platform }: MachineRecord, spec: MachineSpec): Promise<GoldenMachine | null> {
    const wanted = platform.template;
    return wanted && this.#options.goldenMachines.exactly(wanted, spec);
  }

  /** Starts a machine from a record and tells it who it is. A machine that does not take its identity is ended. */
  async start(
    stored: StoredRecord,
    self: Self,
    isFork: boolean,
    known?: SavedMachine,
  ): Promise<Started> {
    const { driver, store } = this.#options;
    const { record } = stored;
    const saved = known ?? (await this.savedMachineOf(stored));
    const drop = store.useOf(record.layers);
    let machine: Machine | null = null;
    try {
      const golden = isFork ? await this.#promotion.of(stored, saved) : null;
      machine = golden ? await driver.clone(golden) : await driver.restore(saved);
      // The saved state has the cable as the machine before had it: a fork may have another isolation.
      await machine.setNetwork(self.hasNetwork);
      const guest = new Guest(machine, lifeOf(record));
      await machine.cont();
      await guest.identify(self, ANSWER_MS.fork, true);
      await dropThrowaways({ machine, guest });
      return { machine, guest };
    } catch (error) {
      await machine?.destroy();
      throw error;
    } finally {
      await drop();
    }
  }

  /** Stops a machine, saves it into a folder, and lets a live one go on into a new layer. */
  async #save(vm: Vm, draft: string, isLive: boolean) {
    const { driver } = this.#options;
    const { machine } = vm;
    if (isLive && machine.layers.length > MOST_LAYERS) await this.#unlayer(machine);
    const layer = isLive ? await driver.newLayer(machine) : null;
    const layers = [...machine.layers];
    const stoppedAt = performance.now();
    try {
      await machine.stop();
      if (layer !== null) await driver.useLayer(machine, layer);
      const { mode, pages } = await driver.save(machine, draft);
      const { spec, golden, diskGb } = machine;
      const volumes = await marked(machine.volumes);
      const saved: SavedMachine = { spec, golden, diskGb, layers, mode, folder: draft, volumes };
      return { saved: { ...saved, pages }, stoppedMs: performance.now() - stoppedAt };
    } finally {
      if (isLive) await this.#goOn(vm);
      if (layer !== null && machine.layers[0] !== layer) await rm(layer, { force: true });
    }
  }

  /** Earlier records keep the layers; a layer that nobody needs is removed. */
  async #unlayer(machine: Machine): Promise<void> {
    const { driver, store } = this.#options;
    const before = machine.layers.slice(1);
    await driver.unlayer(machine);
    await store.releaseLayers(before);
  }

  async #goOn(vm: Vm): Promise<void> {
    if (!vm.isParked) await vm.machine.cont().catch(() => null);
  }

  async #recordOf(
    vm: Vm,
    saved: SavedMachine & { pages: number },
    { kind, id, recordId }: Pick<MachineRecord, "kind" | "id" | "recordId">,
  ): Promise<MachineRecord> {
    const { driver, store } = this.#options;
    const { spec, golden, layers, folder, mode, pages, diskGb, volumes } = saved;
    const { cpu, memMb } = spec;
    return {
      version: RECORD_VERSION,
      recordId,
      kind,
      id,
      ...FRESH,
      org: vm.org,
      isCheckpointed: kind === "checkpoint" || store.get("checkpoint", vm.id) !== undefined,
      createdAt: Date.now(),
      mode,
      pages,
      sizeBytes: await sizeOf(folder, layers),
      platform: platformOf(driver, spec, mode === "delta" ? golden : null),
      image: Manifest.parse(spec.image),
      agent: spec.initrd.hash,
      cpu,
      memMb,
      diskGb,
      isolation: vm.placed.isolation,
      layers: layers.map(nameOf),
      life: storedLife(vm.guest.nextLife),
      self: vm.guest.self,
      volumes,
      lastActivityAt: vm.use.lastAt,
    };
  }

  /** Makes a golden machine of a record now: machines that start from the record share its pages. Does nothing of a stream. */
  async promote(stored: StoredRecord): Promise<void> {
    if (stored.record.mode === "delta")
      await this.#promotion.make(stored, await this.savedMachineOf(stored));
  }
}

/** A record that nobody has used or shipped. */
const FRESH = { durable: false, forks: 0 };
