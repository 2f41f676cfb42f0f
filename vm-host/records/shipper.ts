import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ObjectStore, ObjectStoreError } from "@svc/host-kit/object-store.ts";
import { backoffMs } from "@svc/host-kit/backoff.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { FILES, type GoldenMachine, type SavedMachine } from "../driver.ts";
import type { Lanes } from "../lanes.ts";
import { storedLife } from "../life.ts";
import type { Volumes } from "../volumes/volumes.ts";
import {
  AGENT_FILE,
  type Bundle,
  MANIFEST,
  type PackedFile,
  type ObjectFolder,
  GOLDEN_FILES,
  type GoldenBundle,
  VERSION,
  layerName,
  ownGoldenName,
  packedName,
  recordFiles,
  recordFolder,
  goldenFolder,
} from "./bundle.ts";
import type { RecordKeeper } from "./keeper.ts";
import type { Leftover } from "./leftovers.ts";
import type { LayerMerger } from "./merge-layers.ts";
import { pack } from "./pack.ts";
import { nameOfGolden } from "./platform.ts";
import type { MachineRecord } from "./record.ts";
import type { RecordStore, StoredRecord } from "./store.ts";

const RETRIES = { firstMs: 500, mostMs: 60_000 };
const PASSING = ["ENOSPC", "EDQUOT", "EMFILE", "ENFILE"];

export interface ShipperOptions {
  store: RecordStore;
  keeper: RecordKeeper;
  merger: LayerMerger;
  /** Of changes to a machine. */
  lanes: Lanes;
  objects: ObjectStore;
  volumes: Pick<Volumes, "areStored">;
  /** How old a record is when it is stored. */
  delayMs: number;
  log: Log;
  /** A record got to the object store. */
  onDurable: () => void;
}

/**
 * Brings records to the object store, one after the other and for as long as it takes, and removes there what is gone here.
 * What is to be done follows from what lies on the disk: it survives the host.
 */
export class Shipper {
  readonly #options: ShipperOptions;
  readonly #closing = new AbortController();
  /** Records that cannot be shipped by this run, whoever tries. */
  readonly #givenUp = new Set<string>();
  readonly #merged = new Set<string>();
  #running: Promise<void> | null = null;
  #isDirty = false;
  #failures = 0;

  constructor(options: ShipperOptions) {
    this.#options = options;
  }

  /** Something was saved or is gone. */
  wake(): void {
    this.#isDirty = true;
    if (this.#closing.signal.aborted) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#isDirty) this.wake();
    });
  }

  /** Ends once what is under way has failed: the store is closed first. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#isDirty && !this.#closing.signal.aborted) {
      this.#isDirty = false;
      try {
        await this.#pass();
        this.#failures = 0;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        const reason = messageOf(error);
        if (this.#failures === 0) this.#options.log.warn({ reason }, "object_store_away");
        this.#failures += 1;
        this.#isDirty = true;
        await this.#wait(backoffMs(this.#failures, RETRIES));
      }
    }
  }

  /** Does all that there is to do now. Throws when the store is away. */
  async #pass(): Promise<void> {
    const { store, delayMs } = this.#options;
    for (const leftover of await store.leftovers.all()) await this.#clear(leftover);
    for (const record of store.all("paused", "checkpoint", "snapshot")) {
      const isMerged = record.kind !== "paused" || this.#merged.has(record.recordId);
      if ((record.durable || record.org === null) && isMerged) continue;
      if (this.#givenUp.has(record.recordId)) continue;
      const restMs = record.createdAt + delayMs - Date.now();
      if (restMs > 0) await this.#wait(Math.min(delayMs, restMs));
      if (this.#closing.signal.aborted) return;
      if (!isMerged) await this.#mergeLayers(record.id);
      this.#merged.add(record.recordId);
      await this.#try(record);
    }
  }

  /** In its turn among the changes to that machine. */
  #mergeLayers(id: string): Promise<void> {
    const { lanes, merger } = this.#options;
    return lanes.run(id, "merge layers", () => merger.merge({ kind: "paused", id }));
  }

  async #wait(ms: number): Promise<void> {
    const { signal } = this.#closing;
    await pause(ms, null, { ref: false, signal }).catch(() => null);
  }

  async #try({ kind, id, recordId, org }: MachineRecord): Promise<void> {
    const { store, log, onDurable } = this.#options;
    const here = (): StoredRecord | undefined => {
      // It may have become a checkpoint meanwhile, or be what a crash left.
      const all = [store.get(kind, id), store.get("checkpoint", id), store.get("paused", id)];
      return all.find((stored) => stored?.record.recordId === recordId);
    };
    const stored = here();
    if (!stored || org === null || stored.record.durable) return;
    const release = store.useOf(stored.record.layers);
    try {
      await this.#ship(stored, org);
      // Its machine is nowhere else as it was before its volumes are there, too: whoever stores them wakes this.
      if (kind === "paused" && !(await this.#options.volumes.areStored(id))) return;
      const now = here();
      if (!now) return;
      await store.change(now, { durable: true });
      log.info({ record: recordId }, "record_shipped");
      onDurable();
    } catch (error) {
      if (!here()) return;
      if (isPassing(error)) throw error;
      this.#givenUp.add(recordId);
      log.error({ record: recordId, reason: messageOf(error) }, "record_not_shippable");
    } finally {
      await release();
    }
  }

  async #ship(stored: StoredRecord, org: string): Promise<void> {
    const { store, keeper, objects } = this.#options;
    const { recordId } = stored.record;
    const folder = recordFolder(org, recordId);
    store.ship(recordId);
    if (await objects.has(folder(MANIFEST))) return;
    const saved = await keeper.savedMachineOf(stored);
    const names = saved.mode === "stream" ? [FILES.stream] : [FILES.state, FILES.pages];
    const files: PackedFile[] = [];
    for (const name of names)
      files.push(await this.#store(folder, name, join(stored.folder, name)));
    if (saved.mode === "stream")
      files.push(await this.#store(folder, AGENT_FILE, saved.spec.initrd.file));
    const layers: PackedFile[] = [];
    for (const [index, path] of saved.layers.entries())
      layers.push(await this.#store(folder, layerName(index), path));
    const template = await this.#shipGolden(saved, folder);
    const record = { ...stored.record, durable: true };
    const bundle: Bundle = { ...VERSION, record, files, layers, template };
    await this.#finish(folder, bundle);
  }

  /** The golden machine that lies with the record. A golden machine that belongs to nobody lies in the store once, for all. */
  async #shipGolden({ golden }: SavedMachine, folder: ObjectFolder): Promise<GoldenBundle | null> {
    if (!golden) return null;
    if (golden.isOwn) return this.#goldenFiles(golden, folder, ownGoldenName);
    const shared = goldenFolder(nameOfGolden(golden));
    if (await this.#options.objects.has(shared(MANIFEST))) return null;
    await this.#finish(shared, await this.#goldenFiles(golden, shared, (name) => name));
    return null;
  }

  async #goldenFiles(
    golden: GoldenMachine,
    folder: ObjectFolder,
    rename: (name: string) => string,
  ): Promise<GoldenBundle> {
    const { life, folder: own } = golden;
    const files: PackedFile[] = [];
    for (const name of GOLDEN_FILES)
      files.push(await this.#store(folder, rename(name), join(own, name)));
    return { ...VERSION, ...nameOfGolden(golden), life: storedLife(life), files };
  }

  async #store(folder: ObjectFolder, name: string, path: string): Promise<PackedFile> {
    this.#closing.signal.throwIfAborted();
    const packed = join(this.#options.store.packing, packedName(name));
    try {
      const bytes = await pack(path, packed);
      await this.#options.objects.upload(folder(packedName(name)), packed);
      return { name, bytes };
    } finally {
      await rm(packed, { force: true });
    }
  }

  async #finish(folder: ObjectFolder, manifest: Bundle | GoldenBundle): Promise<void> {
    const file = join(this.#options.store.packing, MANIFEST);
    try {
      await writeFile(file, JSON.stringify(manifest), { mode: 0o600 });
      await this.#options.objects.upload(folder(MANIFEST), file);
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Removes a record there: its manifest first, so that half of one is never found. */
  async #clear({ org, recordId }: Leftover): Promise<void> {
    const { store, objects } = this.#options;
    const folder = recordFolder(org, recordId);
    for (const name of recordFiles()) await objects.remove(folder(name));
    await store.leftovers.drop(recordId);
  }
}

/** Whether another try may work: the store is away, or this disk is too full to pack a file. */
function isPassing(error: unknown): boolean {
  if (error instanceof ObjectStoreError) return error.isPassing;
  return error instanceof Error && "code" in error && PASSING.includes(String(error.code));
}
