import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Machine, MachineSpec, Rest, Template, VmDriver } from "../driver.ts";
import { Guest } from "../guest/guest.ts";
import type { Self } from "../guest/identity.ts";
import { Manifest, imageOf, imagesIn } from "../images/store.ts";
import { ANSWER_MS } from "../maker.ts";
import type { Templates } from "../templates.ts";
import type { Vm } from "../vm.ts";
import { platformFault, platformOf } from "./platform.ts";
import { isThere, nameOf, sizeOf } from "./files.ts";
import {
  NotRestorable,
  RECORD_VERSION,
  type RestingHome,
  type SnapshotRecord,
  lifeOf,
  newRecordId,
  keyOfTemplate,
} from "./record.ts";
import type { Kept, Store } from "./store.ts";

/** A record that was forked so often is made a template, whose pages its machines share. */
const FORKS_TO_PROMOTE = 2;
const QUIET_MS = 1_500;
/** Each layer costs every read of the disk a look. */
const MOST_LAYERS = 8;

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
export type CopyWish = Pick<Wish, "kind" | "id"> & Partial<Pick<SnapshotRecord, "self" | "org">>;

/** A machine that goes on from a record, and knows who it is. */
export interface Started {
  machine: Machine;
  guest: Guest;
}

/** Makes records of machines and machines of records. The one place that knows how a machine rests. */
export class RecordKeeper {
  readonly #parts: KeeperParts;
  /** Records that are being made templates. */
  readonly #promoting = new Set<string>();
  /** Those that will be, once it is quiet. */
  readonly #waiting = new Map<string, NodeJS.Timeout>();

  constructor(parts: KeeperParts) {
    this.#parts = parts;
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
    const as = { ...facts, kind, id, recordId, isCheckpointed: kind === "checkpoint" };
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
    return { spec, mode, folder, template, layers, diskGb };
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
      const template = isFork ? await this.#promoted(kept, rest) : null;
      machine = template ? await driver.clone(template) : await driver.restore(rest);
      if (!self.hasNetwork) await machine.setNetwork(false);
      const guest = new Guest(machine, lifeOf(record));
      await machine.cont();
      await guest.identify(self, ANSWER_MS.fork, true);
      return { machine, guest };
    } catch (error) {
      await machine?.destroy();
      throw error;
    } finally {
      await drop();
    }
  }

  /** Makes few layers of many, of a record that nobody starts from meanwhile. It can break off anywhere. */
  async tidy(kind: SnapshotRecord["kind"], id: string): Promise<void> {
    const { store, driver, log } = this.#parts;
    try {
      for (let kept = store.get(kind, id); kept; kept = store.get(kind, id)) {
        const { layers } = kept.record;
        const [top = "", next] = layers;
        if (next === undefined || !store.isOnlyOf(kept.record, next)) break;
        if (!store.isOnlyOf(kept.record, top)) break;
        await driver.merge(join(store.layers, top));
        await store.change(kept, { layers: layers.slice(1) });
      }
      const kept = store.get(kind, id);
      if (!kept || kept.record.layers.length <= MOST_LAYERS) return;
      const layer = await driver.flatten(await this.restOf(kept));
      await store.change(kept, { layers: [nameOf(layer)] });
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "the layers of a record stay as they are");
    }
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
      const rest: Rest = { spec, template, diskGb, layers, mode, folder: draft };
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
    const { spec, template, layers, folder, mode, pages, diskGb } = rest;
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
      lastActivityAt: vm.lastActivityAt,
    };
  }

  /** The template that a record was made, once it was forked often. The making is not waited for. */
  async #promoted(kept: Kept, rest: Rest): Promise<Template | null> {
    const { templates, store } = this.#parts;
    const { record } = kept;
    if (record.mode === "stream") return null;
    const key = keyOfTemplate(record);
    const template = await templates.get(key, rest.spec);
    if (template) return template;
    const forks = (store.get(record.kind, record.id)?.record.forks ?? 0) + 1;
    // Beyond that nobody counts.
    if (forks <= FORKS_TO_PROMOTE) void store.change(kept, { forks }).catch(() => null);
    if (forks >= FORKS_TO_PROMOTE) this.#promoteSoon(key, kept, rest);
    return null;
  }

  /** Once nobody has forked it for a moment: the work would take the processor from the forks. */
  #promoteSoon(key: string, kept: Kept, rest: Rest): void {
    if (this.#promoting.has(key)) return;
    clearTimeout(this.#waiting.get(key));
    const { kind, id } = kept.record;
    const promote = (): void => {
      this.#waiting.delete(key);
      if (this.#parts.store.get(kind, id)) this.#promote(key, kept, rest);
    };
    this.#waiting.set(key, setTimeout(promote, QUIET_MS).unref());
  }

  #promote(key: string, { record }: Kept, rest: Rest): void {
    const { templates, log, driver, store } = this.#parts;
    this.#promoting.add(key);
    const drop = store.useOf(record.layers);
    const fill = (folder: string): Promise<void> => driver.spread(rest, folder);
    // One that fails is not tried again by this run of the host.
    templates
      .adopt({ key, spec: rest.spec, life: lifeOf(record), fill })
      .then(
        () => this.#promoting.delete(key),
        (error: unknown) => {
          log.warn({ reason: messageOf(error) }, "a snapshot could not be made a template");
        },
      )
      .finally(drop);
  }
}

/** Of a record that nobody has used or shipped. */
const FRESH = { durable: false, forks: 0 };

/** A snapshot's own id; of other records a new one with every saving. */
const recordIdOf = ({ kind, id }: Pick<Wish, "kind" | "id">): string =>
  kind === "snapshot" ? id : newRecordId();
