import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { LifeStart, Machine, Rest, Template, VmDriver } from "../driver.ts";
import { Guest } from "../guest/guest.ts";
import type { Self } from "../guest/identity.ts";
import { hashOf } from "../images/recipe.ts";
import { imageOf, imagesIn } from "../images/store.ts";
import { ANSWER_MS } from "../maker.ts";
import type { Templates } from "../templates.ts";
import type { Vm } from "../vm.ts";
import { dropThrowaways } from "../volumes/volumes.ts";
import { platformFault, platformOf } from "./platform.ts";
import { NotRestorable, RECORD_VERSION, type SnapshotRecord } from "./record.ts";
import { type Kept, type Store, nameOf, sizeOf } from "./store.ts";

/** A record that was forked so often is made a template, whose pages its machines share. */
const FORKS_TO_PROMOTE = 2;
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
  kind: SnapshotRecord["kind"];
  id: string;
  isLive: boolean;
}

/** A machine that goes on from a record, and knows who it is. */
export interface Started {
  machine: Machine;
  guest: Guest;
}

/** Makes records of machines and machines of records. The one place that knows how a machine rests. */
export class RecordKeeper {
  readonly #parts: KeeperParts;
  readonly #forks = new Map<string, number>();

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** Saves a machine. A live one stands still for `stoppedMs` and goes on, whatever happens; another stays stopped. */
  async take(vm: Vm, { kind, id, isLive }: Wish): Promise<{ kept: Kept; stoppedMs: number }> {
    const { store } = this.#parts;
    const draft = await store.draft(kind, id);
    try {
      const { rest, stoppedMs } = await this.#stand(vm, draft, isLive);
      const record = await this.#recordOf(vm, rest, { kind, id });
      const kept = await store.commit(draft, record);
      await this.#hold(kept);
      return { kept, stoppedMs };
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (!isLive) await this.#goOn(vm);
      throw error;
    }
  }

  /** Copies a record of a machine that rests already: its files never change, so they are the same files. */
  async copy(from: Kept, id: string): Promise<Kept> {
    const { store } = this.#parts;
    const draft = await store.draft("snapshot", id);
    await store.linkFiles(from, draft);
    const record: SnapshotRecord = { ...from.record, kind: "snapshot", id, createdAt: Date.now() };
    const kept = await store.commit(draft, record);
    await this.#hold(kept);
    return kept;
  }

  /** Whether a record can go on here, before anything is tried. Throws `NotRestorable` with the reason. */
  async restOf({ folder, record }: Kept): Promise<Rest> {
    const { driver, store, cacheDir } = this.#parts;
    const { platform, image, cpu, memMb, mode, diskGb } = record;
    const initrd = join(cacheDir, "layers", `${record.agent}.img`);
    const layer = { hash: record.agent, initrd };
    const spec = { image: imageOf(imagesIn(cacheDir), image), layer, cpu, memMb };
    const here = await platformOf(driver, spec, null);
    const fault = platformFault(platform, here);
    if (fault !== null) throw new NotRestorable(fault);
    const wanted = platform.template;
    const template = wanted && (await this.#parts.templates.get(wanted.key, spec));
    if (wanted && template?.digest !== wanted.digest)
      throw new NotRestorable("The template that the snapshot differs from is not on this host.");
    const layers = store.pathsOf(record);
    // Whoever goes on from a snapshot is not who has these: its memory meets empty disks, and lets go of them.
    const { volumes: had, kind } = record;
    const volumes = kind === "paused" ? had : had.map((one) => ({ ...one, file: null }));
    return { spec, mode, folder, template, layers, diskGb, volumes };
  }

  /** A machine that goes on from a record. It is not reported before it has taken its identity; else it is ended. */
  async start(kept: Kept, self: Self, isFork: boolean): Promise<Started> {
    const { driver, store } = this.#parts;
    const { record } = kept;
    const rest = await this.restOf(kept);
    const drop = store.useOf(record.layers);
    let machine: Machine | null = null;
    try {
      const template = isFork ? await this.#promoted(kept, rest) : null;
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

  /** Forgets a record. */
  async remove(kind: SnapshotRecord["kind"], id: string): Promise<void> {
    const { store, templates } = this.#parts;
    const kept = store.get(kind, id);
    await store.remove(kind, id);
    const template = kept?.record.platform.template;
    if (kept && template) await templates.holds.drop(template.key, nameOf(kept.folder));
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
        await store.useLayers(kept, layers.slice(1));
      }
      const kept = store.get(kind, id);
      if (!kept || kept.record.layers.length <= MOST_LAYERS) return;
      const layer = await driver.flatten(await this.restOf(kept));
      await store.useLayers(kept, [nameOf(layer)]);
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
      const volumes = [...machine.volumes];
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
    { kind, id }: Omit<Wish, "isLive">,
  ): Promise<SnapshotRecord> {
    const { driver } = this.#parts;
    const { spec, template, layers, folder, mode, pages, diskGb, volumes } = rest;
    const {
      disk: _disk,
      vmlinuz: _vmlinuz,
      busybox: _busybox,
      bootModules: _modules,
      ...image
    } = spec.image;
    const { word, generation } = vm.guest.nextLife;
    return {
      version: RECORD_VERSION,
      kind,
      id,
      createdAt: Date.now(),
      mode,
      pages,
      sizeBytes: await sizeOf(folder, layers),
      platform: await platformOf(driver, spec, mode === "delta" ? template : null),
      image,
      agent: spec.layer.hash,
      cpu: spec.cpu,
      memMb: spec.memMb,
      diskGb,
      isolation: vm.placed.isolation,
      layers: layers.map(nameOf),
      life: { word: Buffer.from(word).toString("hex"), generation },
      self: vm.guest.self,
      volumes,
      lastActivityAt: vm.lastActivityAt,
    };
  }

  async #hold({ folder, record }: Kept): Promise<void> {
    const { template } = record.platform;
    if (template) await this.#parts.templates.holds.hold(template.key, nameOf(folder), folder);
  }

  /** The template that a record was made, once it was forked often. The making is not waited for. */
  async #promoted(kept: Kept, rest: Rest): Promise<Template | null> {
    const { templates, log, driver, store } = this.#parts;
    const { record } = kept;
    const forks = (this.#forks.get(record.id) ?? 0) + 1;
    this.#forks.set(record.id, forks);
    // Clones of a template have nothing plugged in.
    if (record.volumes.length > 0) return null;
    if (record.mode === "stream" || forks < FORKS_TO_PROMOTE) return null;
    const key = hashOf("record", record.id, record.createdAt);
    const template = await templates.get(key, rest.spec);
    if (template || forks > FORKS_TO_PROMOTE) return template;
    const drop = store.useOf(record.layers);
    const adopting = templates.adopt(key, rest.spec, lifeOf(record), (folder) =>
      driver.spread(rest, folder),
    );
    adopting
      .catch((error: unknown) => {
        this.#forks.delete(record.id);
        log.warn({ reason: messageOf(error) }, "a snapshot could not be made a template");
      })
      .finally(drop);
    return null;
  }
}

function lifeOf({ life: { word, generation } }: SnapshotRecord): LifeStart {
  return { word: Buffer.from(word, "hex"), generation };
}
