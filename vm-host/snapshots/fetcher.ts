import { randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ObjectStore } from "@svc/host-kit/object-store.ts";
import type { MachineSpec, Template, VmDriver } from "../driver.ts";
import { type Templates, fetchedKey } from "../templates/templates.ts";
import {
  AGENT_FILE,
  Bundle,
  MANIFEST,
  type PackedFile,
  type Place,
  TemplateBundle,
  ownTemplateName,
  packedName,
  recordPlace,
  templatePlace,
} from "./bundle.ts";
import { isThere } from "../disk/files.ts";
import type { RecordKeeper } from "./keeper.ts";
import { unpack } from "./pack.ts";
import { NotRestorable, type SnapshotRecord, lifeOf } from "./record.ts";
import type { Kept, Store } from "./store.ts";

/** How long a copy that nobody went on from stays, so that a repeat need not fetch it again. */
const UNUSED_MS = 30 * 60_000;

export interface FetcherParts {
  store: Store;
  keeper: RecordKeeper;
  driver: VmDriver;
  templates: Templates;
  objects: ObjectStore;
  /** Throws when there is no room for a machine of this size: better before hundreds of megabytes than after. */
  checkRoom: (size: Pick<SnapshotRecord, "cpu" | "memMb">) => void;
}

/** Gets records of other hosts from the object store. */
export class Fetcher {
  readonly #parts: FetcherParts;
  readonly #under = new Map<string, Promise<Kept | null>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(parts: FetcherParts) {
    this.#parts = parts;
  }

  /**
   * A copy of a record, or null when the store has none. Throws `NotRestorable` before more than the manifest is read, and
   * what the object store says when it is away.
   */
  async get(org: string, recordId: string): Promise<Kept | null> {
    // Removed here, and on its way out of the object store.
    const isGone = (await this.#parts.store.leftovers.all()).some(
      (one) => one.recordId === recordId,
    );
    if (isGone) return null;
    const known = this.#parts.store.get("copy", recordId);
    if (known?.record.org === org) return this.#kept(known);
    const key = `${org} ${recordId}`;
    const under =
      this.#under.get(key) ?? this.#fetch(org, recordId).finally(() => this.#under.delete(key));
    this.#under.set(key, under);
    const kept = await under;
    return kept && this.#kept(kept);
  }

  #kept(kept: Kept): Kept {
    const { store } = this.#parts;
    const { recordId } = kept.record;
    clearTimeout(this.#timers.get(recordId));
    const forget = (): void => {
      this.#timers.delete(recordId);
      void store.remove("copy", recordId);
    };
    this.#timers.set(recordId, setTimeout(forget, UNUSED_MS).unref());
    return kept;
  }

  async #fetch(org: string, recordId: string): Promise<Kept | null> {
    const { keeper, checkRoom, store } = this.#parts;
    const place = recordPlace(org, recordId);
    const bundle = await this.#manifest(place, Bundle);
    if (!bundle) return null;
    const { record } = bundle;
    if (record.org !== org || record.recordId !== recordId) return null;
    await keeper.checkPlatform(record);
    checkRoom(record);
    const spec = keeper.specOf(record);
    if (bundle.files.some(({ name }) => name === AGENT_FILE))
      await this.#agent(place, bundle, spec);
    const template = await this.#template(bundle, place, spec);
    const draft = await store.draft("copy", recordId);
    const names = bundle.layers.map(() => `m-${randomBytes(6).toString("hex")}.qcow2`);
    const layers = names.map((name) => join(store.layers, name));
    const drop = store.useOf(names);
    try {
      for (const file of bundle.files)
        if (file.name !== AGENT_FILE) await this.#load(place, file, join(draft, file.name));
      for (const [index, file] of bundle.layers.entries())
        await this.#load(place, file, layers[index] ?? "");
      await this.#parts.driver.settle({ spec, template, layers });
      const copy = { kind: "copy", id: recordId, durable: true, layers: names, forks: 0 } as const;
      return await keeper.keep(draft, { ...record, ...copy }, template);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    } finally {
      await drop();
    }
  }

  /** The template of a record: here already, or fetched. */
  async #template(bundle: Bundle, place: Place, spec: MachineSpec): Promise<Template | null> {
    const { templates, driver } = this.#parts;
    const wanted = bundle.record.platform.template;
    if (!wanted) return null;
    const key = fetchedKey(wanted);
    using _lock = await templates.lock(key);
    const known = await templates.exactly(wanted, spec);
    if (known) return known;
    const isOwn = bundle.template !== null;
    const from = isOwn ? place : templatePlace(wanted);
    const found = bundle.template ?? (await this.#manifest(from, TemplateBundle));
    if (!found)
      throw new NotRestorable("The template that the snapshot differs from is not to be had.");
    const fill = async (folder: string): Promise<void> => {
      for (const file of found.files) {
        const name = isOwn ? file.name.slice(ownTemplateName("").length) : file.name;
        await this.#load(from, file, join(folder, name));
      }
      await driver.settleTemplate(folder, spec);
    };
    return templates.adopt({ key, spec, life: lifeOf(found), isOwn, origin: wanted, fill });
  }

  async #agent(place: Place, { files }: Bundle, { layer }: MachineSpec): Promise<void> {
    const file = files.find(({ name }) => name === AGENT_FILE);
    if (file && !(await isThere(layer.initrd))) await this.#load(place, file, layer.initrd);
  }

  async #manifest<Manifest>(
    place: Place,
    schema: { parse(value: unknown): Manifest },
  ): Promise<Manifest | null> {
    const file = join(this.#parts.store.packing, `${randomBytes(6).toString("hex")}.json`);
    try {
      if (!(await this.#parts.objects.download(place(MANIFEST), file))) return null;
      return schema.parse(JSON.parse(await readFile(file, "utf8")));
    } finally {
      await rm(file, { force: true });
    }
  }

  async #load(place: Place, { name, bytes }: PackedFile, to: string): Promise<void> {
    const { objects, store } = this.#parts;
    const packed = join(store.packing, `${randomBytes(6).toString("hex")}.zst`);
    try {
      if (!(await objects.download(place(packedName(name)), packed)))
        throw new Error(`the object store lacks ${name}`);
      await unpack(packed, to, bytes);
    } finally {
      await rm(packed, { force: true });
    }
  }
}
