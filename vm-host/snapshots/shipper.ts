import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ObjectStore, ObjectStoreError } from "@svc/host-kit/object-store.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Rest, Template } from "../driver.ts";
import { FILES } from "../qemu/command.ts";
import {
  AGENT_FILE,
  type Bundle,
  MANIFEST,
  type PackedFile,
  type Place,
  TEMPLATE_FILES,
  type TemplateBundle,
  VERSION,
  layerName,
  ownTemplateName,
  packedName,
  recordFiles,
  recordPlace,
  templatePlace,
} from "./bundle.ts";
import type { RecordKeeper } from "./keeper.ts";
import type { Leftover } from "./leftovers.ts";
import { pack } from "./pack.ts";
import { nameOfTemplate } from "./platform.ts";
import type { SnapshotRecord } from "./record.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { Kept, Store } from "./store.ts";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 60_000;
const PASSING = ["ENOSPC", "EDQUOT", "EMFILE", "ENFILE"];

export interface ShipperParts {
  store: Store;
  keeper: RecordKeeper;
  objects: ObjectStore;
  volumes: Pick<Volumes, "areStored">;
  /** How old a record is when it is stored. */
  delayMs: number;
  log: Log;
  /** Makes few layers of many, in its turn among the acts on that machine. */
  tidy: (id: string) => Promise<void>;
  onDurable: () => void;
}

/**
 * Brings records to the object store, one after the other and for as long as it takes, and removes there what is gone here.
 * What is to be done follows from what lies on the disk: it survives the host.
 */
export class Shipper {
  readonly #parts: ShipperParts;
  readonly #closing = new AbortController();
  /** Records that cannot be shipped by this run, whoever tries. */
  readonly #givenUp = new Set<string>();
  readonly #tidied = new Set<string>();
  #running: Promise<void> | null = null;
  #isDirty = false;
  #failures = 0;

  constructor(parts: ShipperParts) {
    this.#parts = parts;
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
        if (this.#failures === 0)
          this.#parts.log.warn({ reason }, "records wait for the object store");
        this.#failures += 1;
        this.#isDirty = true;
        await this.#wait(Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1)));
      }
    }
  }

  /** Does all that there is to do now. Throws when the store is away. */
  async #pass(): Promise<void> {
    const { store, tidy, delayMs } = this.#parts;
    for (const leftover of await store.leftovers.all()) await this.#clear(leftover);
    for (const record of store.all("paused", "checkpoint", "snapshot")) {
      const isTidy = record.kind !== "paused" || this.#tidied.has(record.recordId);
      if ((record.durable || record.org === null) && isTidy) continue;
      if (this.#givenUp.has(record.recordId)) continue;
      const restMs = record.createdAt + delayMs - Date.now();
      if (restMs > 0) await this.#wait(Math.min(delayMs, restMs));
      if (this.#closing.signal.aborted) return;
      if (!isTidy) await tidy(record.id);
      this.#tidied.add(record.recordId);
      await this.#try(record);
    }
  }

  async #wait(ms: number): Promise<void> {
    const { signal } = this.#closing;
    await pause(ms, null, { ref: false, signal }).catch(() => null);
  }

  async #try({ kind, id, recordId, org }: SnapshotRecord): Promise<void> {
    const { store, log, onDurable } = this.#parts;
    const here = (): Kept | undefined => {
      // It may have become a checkpoint meanwhile, or be what a crash left.
      const all = [store.get(kind, id), store.get("checkpoint", id), store.get("paused", id)];
      return all.find((kept) => kept?.record.recordId === recordId);
    };
    const kept = here();
    if (!kept || org === null || kept.record.durable) return;
    const release = store.useOf(kept.record.layers);
    try {
      await this.#ship(kept, org);
      // Its machine is nowhere else as it was before its volumes are there, too: whoever stores them wakes this.
      if (kind === "paused" && !(await this.#parts.volumes.areStored(id))) return;
      const now = here();
      if (!now) return;
      await store.change(now, { durable: true });
      log.info({ record: recordId }, "a record is in the object store");
      onDurable();
    } catch (error) {
      if (!here()) return;
      if (isPassing(error)) throw error;
      this.#givenUp.add(recordId);
      log.error({ record: recordId, reason: messageOf(error) }, "a record cannot be shipped");
    } finally {
      await release();
    }
  }

  async #ship(kept: Kept, org: string): Promise<void> {
    const { store, keeper, objects } = this.#parts;
    const { recordId } = kept.record;
    const place = recordPlace(org, recordId);
    store.ship(recordId);
    if (await objects.has(place(MANIFEST))) return;
    const rest = await keeper.restOf(kept);
    const names = rest.mode === "stream" ? [FILES.stream] : [FILES.state, FILES.pages];
    const files: PackedFile[] = [];
    for (const name of names) files.push(await this.#store(place, name, join(kept.folder, name)));
    if (rest.mode === "stream")
      files.push(await this.#store(place, AGENT_FILE, rest.spec.layer.initrd));
    const layers: PackedFile[] = [];
    for (const [index, path] of rest.layers.entries())
      layers.push(await this.#store(place, layerName(index), path));
    const template = await this.#shipTemplate(rest, place);
    const record = { ...kept.record, durable: true };
    const bundle: Bundle = { ...VERSION, record, files, layers, template };
    await this.#finish(place, bundle);
  }

  /** What the record must bring itself: of a template that is anybody's only one copy is there. */
  async #shipTemplate({ template }: Rest, place: Place): Promise<TemplateBundle | null> {
    if (!template) return null;
    if (template.isOwn) return this.#templateFiles(template, place, ownTemplateName);
    const shared = templatePlace(nameOfTemplate(template));
    if (await this.#parts.objects.has(shared(MANIFEST))) return null;
    await this.#finish(shared, await this.#templateFiles(template, shared, (name) => name));
    return null;
  }

  async #templateFiles(
    template: Template,
    place: Place,
    rename: (name: string) => string,
  ): Promise<TemplateBundle> {
    const { life, folder } = template;
    const files: PackedFile[] = [];
    for (const name of TEMPLATE_FILES)
      files.push(await this.#store(place, rename(name), join(folder, name)));
    const word = Buffer.from(life.word).toString("hex");
    const { generation } = life;
    return { ...VERSION, ...nameOfTemplate(template), life: { word, generation }, files };
  }

  async #store(place: Place, name: string, path: string): Promise<PackedFile> {
    this.#closing.signal.throwIfAborted();
    const packed = join(this.#parts.store.packing, packedName(name));
    try {
      const bytes = await pack(path, packed);
      await this.#parts.objects.upload(place(packedName(name)), packed);
      return { name, bytes };
    } finally {
      await rm(packed, { force: true });
    }
  }

  async #finish(place: Place, manifest: Bundle | TemplateBundle): Promise<void> {
    const file = join(this.#parts.store.packing, MANIFEST);
    try {
      await writeFile(file, JSON.stringify(manifest), { mode: 0o600 });
      await this.#parts.objects.upload(place(MANIFEST), file);
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Removes a record there: its manifest first, so that half of one is never found. */
  async #clear({ org, recordId }: Leftover): Promise<void> {
    const { store, objects } = this.#parts;
    const place = recordPlace(org, recordId);
    for (const name of recordFiles()) await objects.remove(place(name));
    await store.leftovers.drop(recordId);
  }
}

/** Whether the same again may work: the store is away, or this disk has no room for what is packed. */
function isPassing(error: unknown): boolean {
  if (error instanceof ObjectStoreError) return error.isPassing;
  return error instanceof Error && "code" in error && PASSING.includes(String(error.code));
}
