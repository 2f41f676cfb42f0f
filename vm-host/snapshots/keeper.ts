import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "@svc/host-kit/log.ts";
import type { Machine, MachineSpec, Rest, Template, VmDriver } from "../driver.ts";
import { Guest } from "../guest/guest.ts";
import type { Self } from "../guest/identity.ts";
import { Manifest, imageOf, imagesIn } from "../images/store.ts";
import { ANSWER_MS } from "../machines/maker.ts";
import type { Templates } from "../templates/templates.ts";
import type { Vm } from "../machines/vm.ts";
import { dropThrowaways, fitting, marked } from "../volumes/throwaway.ts";
import { Promotion } from "./promotion.ts";
import { platformFault, platformOf } from "./platform.ts";
import { isThere, nameOf, sizeOf } from "../disk/files.ts";
import {
  NotRestorable,
  RECORD_VERSION,
  type RestingHome,
  type SnapshotRecord,
  lifeOf,
  recordIdOf,
} from "./record.ts";
import type { Kept, Store } from "./store.ts";
import { MOST_LAYERS, tidyRecord } from "./merge-layers.ts";

export interface KeeperParts {
  driver: VmDriver;
  templates: Templates;
  store: Store;
  cacheDir: string;
  log: Log;
}

/** What a record is to be, and whether its machine goes on. */
export interface Wish {
  kind: "paused" | "checkpoint" | "snapshot" | "layer" | "shared";
  id: string;
  isLive: boolean;
  /** Of a machine of shares. */
  home?: RestingHome;
}

/** What a copy of a record is to be. */
export type CopyWish = Pick<Wish, "kind" | "id"> &
  Partial<Pick<SnapshotRecord, "self" | "org" | "isCheckpointed">>;

/** A machine that goes on from a record, and knows who it is. */
export interface Started {
  machine: Machine;
  guest: Guest;
}

/** Makes records of machines and machines of records. The one place that knows how a machine rests. */
export class RecordKeeper {
  readonly #parts: KeeperParts;
  readonly #promotion: Promotion;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#promotion = new Promotion(parts);
  }

  /** Saves a machine. A live one stands still for `stoppedMs` and goes on, whatever happens; another stays stopped. */
  async take(vm: Vm, { kind, id, isLive, home }: Wish): Promise<{ kept: Kept; stoppedMs: number }> {
    const { store } = this.#parts;
    const recordId = recordIdOf({ kind, id });
    const draft = await store.draft(kind, recordId);
    try {
      const { rest, stoppedMs } = await this.#stand(vm, draft, isLive);
      const record = await this.#recordOf(vm, rest, { kind, id, recordId });
      if (home) record.home = home;
      return { kept: await this.keep(draft, record, rest.template), stoppedMs };
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (!isLive) await this.#goOn(vm);
      throw error;
    }
  }

  /** Copies a record: its files never change, so they are the same files. */
  async copy(from: Kept, { kind, id, ...facts }: CopyWish): Promise<Kept> {
    const { store } = this.#parts;
    const recordId = recordIdOf({ kind, id });
    const draft = await store.draft(kind, recordId);
    await store.linkFiles(from, draft);
    const as = { isCheckpointed: kind === "checkpoint", ...facts, kind, id, recordId };
    const record = { ...from.record, ...FRESH, ...as, createdAt: Date.now() };
    return this.keep(draft, record, await this.#templateOf(record, this.specOf(record)));
  }

  /** Makes a draft a record, which needs its template from now on. */
  async keep(draft: string, record: SnapshotRecord, template: Template | null): Promise<Kept> {
    const kept = await this.#parts.store.commit(draft, record);
    const { folder } = kept;
    if (template) await this.#parts.templates.holds.hold(template.key, nameOf(folder), folder);
    return kept;
  }

  /** Whether a record can go on here, before anything is tried. Throws `NotRestorable` with the reason. */
  async restOf({ folder, record }: Kept): Promise<Rest> {
    const { mode, diskGb } = record;
    const spec = this.specOf(record);
    await this.checkPlatform(record);
    const template = await this.#templateOf(record, spec);
    if (record.platform.template && !template)
      throw new NotRestorable("The template that the snapshot differs from is not on this host.");
    const layers = this.#parts.store.pathsOf(record);
    const volumes = await fitting(record.volumes, record.kind === "paused");
    return { spec, mode, folder, template, layers, diskGb, volumes };
  }

  /** Whether machines like a record's run here at all. Throws `NotRestorable`. */
  async checkPlatform({ platform, ...record }: SnapshotRecord): Promise<void> {
    const spec = this.specOf(record);
    const fault = platformFault(platform, await platformOf(this.#parts.driver, spec, null));
    if (fault !== null) throw new NotRestorable(fault);
    if (!(await isThere(spec.image.disk)))
      throw new NotRestorable(`The image ${platform.image} is not on this host.`);
  }

  specOf({ agent, image, cpu, memMb }: Omit<SnapshotRecord, "platform">): MachineSpec {
    const { cacheDir } = this.#parts;
    const layer = { hash: agent, initrd: join(cacheDir, "layers", `${agent}.img`) };
    return { image: imageOf(imagesIn(cacheDir), image), layer, cpu, memMb };
  }

  async #templateOf({ platform }: SnapshotRecord, spec: MachineSpec): Promise<Template | null> {
    const wanted = platform.template;
    return wanted && this.#parts.templates.exactly(wanted, spec);
  }

  /** A machine that goes on from a record. It is not reported before it has taken its identity; else it is ended. */
  async start(kept: Kept, self: Self, isFork: boolean, known?: Rest): Promise<Started> {
    const { driver, store } = this.#parts;
    const { record } = kept;
    const rest = known ?? (await this.restOf(kept));
    const drop = store.useOf(record.layers);
    let machine: Machine | null = null;
    try {
      const template = isFork ? await this.#promotion.of(kept, rest) : null;
      machine = template ? await driver.clone(template) : await driver.restore(rest);
      if (!self.hasNetwork) await machine.setNetwork(false);
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

  /** Makes few layers of many, of a record that nobody starts from meanwhile. */
  tidy(kind: SnapshotRecord["kind"], id: string): Promise<void> {
    return tidyRecord(this.#parts, (kept) => this.restOf(kept), { kind, id });
  }

  /** Stops a machine, saves it into a folder, and lets a live one go on into a new layer. */
  async #stand(vm: Vm, draft: string, isLive: boolean) {
    const { driver } = this.#parts;
    const { machine } = vm;
    if (isLive && machine.layers.length > MOST_LAYERS) await this.#unlayer(machine);
    const layer = isLive ? await driver.newLayer(machine) : null;
    const layers = [...machine.layers];
    const stoppedAt = performance.now();
    try {
      await machine.stop();
      if (layer !== null) await driver.useLayer(machine, layer);
      const { mode, pages } = await driver.save(machine, draft);
      const { spec, template, diskGb } = machine;
      const volumes = await marked(machine.volumes);
      const rest: Rest = { spec, template, diskGb, layers, mode, folder: draft, volumes };
      return { rest: { ...rest, pages }, stoppedMs: performance.now() - stoppedAt };
    } finally {
      if (isLive) await this.#goOn(vm);
      if (layer !== null && machine.layers[0] !== layer) await rm(layer, { force: true });
    }
  }

  /** The snapshots of before keep the layers; what nobody needs is removed. */
  async #unlayer(machine: Machine): Promise<void> {
    const { driver, store } = this.#parts;
    const before = machine.layers.slice(1);
    await driver.unlayer(machine);
    await store.releaseLayers(before);
  }

  async #goOn(vm: Vm): Promise<void> {
    if (!vm.isParked) await vm.machine.cont().catch(() => null);
  }

  async #recordOf(
    vm: Vm,
    rest: Rest & { pages: number },
    { kind, id, recordId }: Pick<SnapshotRecord, "kind" | "id" | "recordId">,
  ): Promise<SnapshotRecord> {
    const { driver, store } = this.#parts;
    const { spec, template, layers, folder, mode, pages, diskGb, volumes } = rest;
    const { cpu, memMb } = spec;
    const { word, generation } = vm.guest.nextLife;
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
      platform: await platformOf(driver, spec, mode === "delta" ? template : null),
      image: Manifest.parse(spec.image),
      agent: spec.layer.hash,
      cpu,
      memMb,
      diskGb,
      isolation: vm.placed.isolation,
      layers: layers.map(nameOf),
      life: { word: Buffer.from(word).toString("hex"), generation },
      self: vm.guest.self,
      volumes,
      lastActivityAt: vm.lastActivityAt,
    };
  }

  /** Makes a record a template now: what is started from it shares its pages. Nothing where it cannot be one. */
  async promote(kept: Kept): Promise<void> {
    if (kept.record.mode === "delta") await this.#promotion.make(kept, await this.restOf(kept));
  }
}

/** Of a record that nobody has used or shipped. */
const FRESH = { durable: false, forks: 0 };
