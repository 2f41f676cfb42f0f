import { randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ObjectStore } from "@svc/host-kit/object-store.ts";
import { isThere } from "../disk/files.ts";
import { type GoldenMachine, type MachineSpec, NotRestorable, type VmDriver } from "../driver.ts";
import { type GoldenMachines, fetchedKey } from "../golden/golden-machines.ts";
import { lifeOf } from "../life.ts";
import type { Capacity } from "../machines/capacity.ts";
import {
  AGENT_FILE,
  Bundle,
  MANIFEST,
  type PackedFile,
  type ObjectFolder,
  GoldenBundle,
  ownGoldenName,
  packedName,
  recordFolder,
  goldenFolder,
} from "./bundle.ts";
import type { RecordKeeper } from "./keeper.ts";
import { unpack } from "./pack.ts";
import type { RecordStore, StoredRecord } from "./store.ts";

/** How long a copy that nobody uses stays, so that a repeat need not fetch it again. */
const UNUSED_MS = 30 * 60_000;

export interface FetcherParts {
  store: RecordStore;
  keeper: RecordKeeper;
  driver: VmDriver;
  goldenMachines: GoldenMachines;
  objects: ObjectStore;
  capacity: Capacity;
}

/** Gets records of other hosts from the object store. */
export class Fetcher {
  readonly #parts: FetcherParts;
  readonly #under = new Map<string, Promise<StoredRecord | null>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(parts: FetcherParts) {
    this.#parts = parts;
  }

  /**
   * A copy of a record, or null when the object store has no such record. Throws `NotRestorable` before more than the manifest
   * is read, and the fault of an object store that is away.
   */
  async get(org: string, recordId: string): Promise<StoredRecord | null> {
    // Removed here, and about to go from the object store.
    const isGone = (await this.#parts.store.leftovers.all()).some(
      (one) => one.recordId === recordId,
    );
    if (isGone) return null;
    const known = this.#parts.store.get("copy", recordId);
    if (known?.record.org === org) return this.#used(known);
    const key = `${org} ${recordId}`;
    const under =
      this.#under.get(key) ?? this.#fetch(org, recordId).finally(() => this.#under.delete(key));
    this.#under.set(key, under);
    const fetched = await under;
    return fetched && this.#used(fetched);
  }

  /** The copy stays from now on for a while. */
  #used(copy: StoredRecord): StoredRecord {
    const { store } = this.#parts;
    const { recordId } = copy.record;
    clearTimeout(this.#timers.get(recordId));
    const forget = (): void => {
      this.#timers.delete(recordId);
      void store.remove("copy", recordId);
    };
    this.#timers.set(recordId, setTimeout(forget, UNUSED_MS).unref());
    return copy;
  }

  async #fetch(org: string, recordId: string): Promise<StoredRecord | null> {
    const { keeper, capacity, store } = this.#parts;
    const from = recordFolder(org, recordId);
    const bundle = await this.#manifest(from, Bundle);
    if (!bundle) return null;
    const { record } = bundle;
    if (record.org !== org || record.recordId !== recordId) return null;
    await keeper.checkPlatform(record);
    // Refused before hundreds of megabytes are fetched, not after.
    capacity.claim(record)();
    const spec = keeper.specOf(record);
    if (bundle.files.some(({ name }) => name === AGENT_FILE))
      await this.#initrd(from, bundle, spec);
    const golden = await this.#golden(bundle, from, spec);
    const draft = await store.draft("copy", recordId);
    const names = bundle.layers.map(() => `m-${randomBytes(6).toString("hex")}.qcow2`);
    const layers = names.map((name) => join(store.layers, name));
    const drop = store.useOf(names);
    try {
      for (const file of bundle.files)
        if (file.name !== AGENT_FILE) await this.#load(from, file, join(draft, file.name));
      for (const [index, file] of bundle.layers.entries())
        await this.#load(from, file, layers[index] ?? "");
      await this.#parts.driver.settle({ spec, golden, layers });
      const copy = { kind: "copy", id: recordId, durable: true, layers: names, forks: 0 } as const;
      return await keeper.keep(draft, { ...record, ...copy }, golden);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    } finally {
      await drop();
    }
  }

  /** The golden machine of a record: here already, or fetched. */
  async #golden(
    bundle: Bundle,
    own: ObjectFolder,
    spec: MachineSpec,
  ): Promise<GoldenMachine | null> {
    const { goldenMachines, driver } = this.#parts;
    const wanted = bundle.record.platform.template;
    if (!wanted) return null;
    const key = fetchedKey(wanted);
    using _lock = await goldenMachines.lock(key);
    const known = await goldenMachines.exactly(wanted, spec);
    if (known) return known;
    const isOwn = bundle.template !== null;
    const from = isOwn ? own : goldenFolder(wanted);
    const found = bundle.template ?? (await this.#manifest(from, GoldenBundle));
    if (!found)
      throw new NotRestorable(
        "The golden machine that the snapshot builds on is not in the store.",
      );
    const fill = async (folder: string): Promise<void> => {
      for (const file of found.files) {
        const name = isOwn ? file.name.slice(ownGoldenName("").length) : file.name;
        await this.#load(from, file, join(folder, name));
      }
      await driver.settleGolden(folder, spec);
    };
    return goldenMachines.adopt({ key, spec, life: lifeOf(found), isOwn, origin: wanted, fill });
  }

  async #initrd(from: ObjectFolder, { files }: Bundle, { initrd }: MachineSpec): Promise<void> {
    const file = files.find(({ name }) => name === AGENT_FILE);
    if (file && !(await isThere(initrd.file))) await this.#load(from, file, initrd.file);
  }

  async #manifest<Manifest>(
    from: ObjectFolder,
    schema: { parse(value: unknown): Manifest },
  ): Promise<Manifest | null> {
    const file = join(this.#parts.store.packing, `${randomBytes(6).toString("hex")}.json`);
    try {
      if (!(await this.#parts.objects.download(from(MANIFEST), file))) return null;
      return schema.parse(JSON.parse(await readFile(file, "utf8")));
    } finally {
      await rm(file, { force: true });
    }
  }

  async #load(from: ObjectFolder, { name, bytes }: PackedFile, to: string): Promise<void> {
    const { objects, store } = this.#parts;
    const packed = join(store.packing, `${randomBytes(6).toString("hex")}.zst`);
    try {
      if (!(await objects.download(from(packedName(name)), packed)))
        throw new Error(`the object store lacks ${name}`);
      await unpack(packed, to, bytes);
    } finally {
      await rm(packed, { force: true });
    }
  }
}
