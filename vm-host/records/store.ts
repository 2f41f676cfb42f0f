import { link, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { hashText, nameOf, replaceFile, sync } from "../disk/files.ts";
import type { LayersInUse } from "../disk/layers-in-use.ts";
import { OWNER_FILE, ownerOf, removeOrphans } from "../disk/owner.ts";
import { type Leftover, Leftovers } from "./leftovers.ts";
import { MachineRecord, RECORD_FILE, writtenRecord } from "./record.ts";

const DRAFT = ".tmp";

/** A record and where it lies. */
export interface StoredRecord {
  folder: string;
  record: MachineRecord;
}

type Kind = MachineRecord["kind"];
/** What of a record may change. */
type Change = Partial<Pick<MachineRecord, "kind" | "id" | "layers" | "durable" | "forks" | "home">>;

export interface StoreOptions {
  cacheDir: string;
  stateDir: string;
  layersInUse: LayersInUse;
  /** There is something to ship or to remove. */
  onChange: () => void;
  log: Log;
}

/** The records of a host: they outlive its process. */
export class RecordStore {
  /** Disks of machines and records. Not a run's: they go from one to the next. */
  readonly layers: string;
  /** For what is packed on its way to the object store; emptied at every start. */
  readonly packing: string;
  readonly leftovers: Leftovers;
  readonly #folder: string;
  readonly #log: Log;
  readonly #layersInUse: LayersInUse;
  readonly #onChange: () => void;
  readonly #stored = new Map<string, StoredRecord>();
  /** Layers in use besides those of machines: of machines and records on their way. */
  readonly #used = new Map<string, number>();
  /** Records of which something may be in the object store. */
  readonly #shipped = new Set<string>();
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, { layersInUse, onChange, log }: StoreOptions) {
    this.#folder = folder;
    this.#layersInUse = layersInUse;
    this.#onChange = onChange;
    this.#log = log;
    this.layers = join(folder, "layers");
    this.packing = join(folder, "packing");
    this.leftovers = new Leftovers(join(folder, "leftovers"));
  }

  /** Reads what is there, and removes what was never finished or belongs to nobody any more. */
  static async open(options: StoreOptions): Promise<RecordStore> {
    const { cacheDir, stateDir } = options;
    const all = join(cacheDir, "records");
    await mkdir(all, { recursive: true, mode: 0o711 });
    const owner = await ownerOf(stateDir);
    await removeOrphans(all, owner.pidNamespace);
    const store = new RecordStore(join(all, hashText(owner.id)), options);
    await mkdir(store.layers, { recursive: true, mode: 0o711 });
    await rm(store.packing, { recursive: true, force: true });
    await mkdir(store.packing, { mode: 0o700 });
    await mkdir(store.leftovers.folder, { recursive: true, mode: 0o700 });
    await writeFile(join(store.#folder, OWNER_FILE), JSON.stringify(owner), { mode: 0o600 });
    await store.#read();
    return store;
  }

  get(kind: Kind, id: string): StoredRecord | undefined {
    return this.#stored.get(keyOf(kind, id));
  }

  /** The record in which a sandbox is paused here, by itself or as a share of a home. */
  pausedRecordOf(id: string): MachineRecord | undefined {
    return this.get("paused", id)?.record ?? this.homeRecordOf(id);
  }

  /** The record of the home in which the share of a sandbox is saved. */
  homeRecordOf(id: string): MachineRecord | undefined {
    return this.all("home").find(({ home }) => home?.shares.some((share) => share.id === id));
  }

  /** The oldest first. */
  all(...kinds: Kind[]): MachineRecord[] {
    return [...this.#stored.values()]
      .map(({ record }) => record)
      .filter(({ kind }) => kinds.includes(kind))
      .toSorted((left, right) => left.createdAt - right.createdAt);
  }

  /** A folder to write a record's files into. */
  async draft(kind: Kind, recordId: string): Promise<string> {
    const folder = join(this.#folder, `${hashText(`${kind} ${recordId}`)}${DRAFT}`);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  /** Makes a draft a record, all at once: on the disk first, then under its name. The record that it replaces goes then. */
  async commit(draft: string, record: MachineRecord): Promise<StoredRecord> {
    const { kind, id } = record;
    await writeFile(join(draft, RECORD_FILE), JSON.stringify(writtenRecord(record)), {
      mode: 0o600,
    });
    const files = (await readdir(draft)).map((name) => join(draft, name));
    await Promise.all(
      [...files, ...record.layers.map((name) => join(this.layers, name))].map(sync),
    );
    await sync(draft);
    const folder = draft.slice(0, -DRAFT.length);
    await rename(draft, folder);
    await sync(this.#folder);
    const before = this.get(kind, id);
    const stored = { folder, record };
    this.#stored.set(keyOf(kind, id), stored);
    if (before) await this.#drop(before);
    this.#onChange();
    return stored;
  }

  /** Gives a draft the files of a record, which are never written again. */
  async linkFiles({ folder }: StoredRecord, draft: string): Promise<void> {
    for (const name of await readdir(folder))
      if (name !== RECORD_FILE) await link(join(folder, name), join(draft, name));
  }

  /** Changes what a record says. Its layers may become other layers with the same content. Null when the record is gone. */
  async change({ record }: StoredRecord, change: Change): Promise<StoredRecord | null> {
    const before = this.#stored.get(keyOf(record.kind, record.id));
    if (before?.record.recordId !== record.recordId) return null;
    const { folder } = before;
    const stored = { folder, record: { ...before.record, ...change } };
    this.#stored.delete(keyOf(record.kind, record.id));
    this.#stored.set(keyOf(stored.record.kind, stored.record.id), stored);
    const writing = this.#writing.then(() => this.#write(folder));
    this.#writing = writing.catch(() => null);
    await writing;
    if (change.layers) await this.releaseLayers(record.layers);
    return stored;
  }

  /** Forgets a record: its name goes first, so that half of one is never found. */
  async remove(kind: Kind, id: string): Promise<void> {
    const stored = this.get(kind, id);
    if (!stored) return;
    this.#stored.delete(keyOf(kind, id));
    await this.#drop(stored);
  }

  /** Forgets a snapshot, here and in the object store, also one that another host took. */
  async removeSnapshot(id: string, org: string): Promise<void> {
    if (!this.get("snapshot", id)) await this.bury({ org, recordId: id });
    await this.remove("snapshot", id);
    await this.remove("copy", id);
  }

  /** Notes that a record shall go from the object store. */
  async bury(leftover: Leftover): Promise<void> {
    await this.leftovers.add(leftover).catch((error: unknown) => {
      this.#log.error({ reason: messageOf(error) }, "leftover_not_noted");
    });
    this.#onChange();
  }

  /** From now on a part of this record may be in the object store. */
  ship(recordId: string): void {
    this.#shipped.add(recordId);
  }

  /** Keeps layers, named or by their paths, until the returned function is called. */
  useOf(layers: string[]): () => Promise<void> {
    const names = layers.map(nameOf);
    for (const name of names) this.#used.set(name, (this.#used.get(name) ?? 0) + 1);
    let isUsed = true;
    return async () => {
      if (!isUsed) return;
      isUsed = false;
      for (const name of names) this.#used.set(name, (this.#used.get(name) ?? 1) - 1);
      await this.releaseLayers(names);
    };
  }

  /** Whether nobody but this record needs a layer. */
  isOnlyOf(record: MachineRecord, layer: string): boolean {
    if ((this.#used.get(layer) ?? 0) > 0 || this.#layersInUse.names.includes(layer)) return false;
    const records = [...this.#stored.values()].map((stored) => stored.record);
    return !records.some((one) => one !== record && one.layers.includes(layer));
  }

  pathsOf({ layers }: MachineRecord): string[] {
    return layers.map((name) => join(this.layers, name));
  }

  /** Removes layers, but for those that a machine or record needs. */
  async releaseLayers(layers: string[]): Promise<void> {
    const needed = this.#needed();
    for (const name of layers.map(nameOf))
      if (!needed.has(name)) await rm(join(this.layers, name), { force: true });
  }

  async #read(): Promise<void> {
    const others = [OWNER_FILE, ...[this.layers, this.packing, this.leftovers.folder].map(nameOf)];
    const found: StoredRecord[] = [];
    for (const name of await readdir(this.#folder)) {
      if (others.includes(name)) continue;
      const folder = join(this.#folder, name);
      const record = name.endsWith(DRAFT) ? null : await readRecord(folder);
      if (record && record.kind !== "copy") found.push({ folder, record });
      else await rm(folder, { recursive: true, force: true });
      if (!record) this.#log.warn({ folder: name }, "unfinished_record_removed");
    }
    await this.#take(found);
    await this.releaseLayers(await readdir(this.layers));
  }

  /** The newest of each machine and snapshot. What ran without having been paused is paused as of its checkpoint. */
  async #take(found: StoredRecord[]): Promise<void> {
    const older: StoredRecord[] = [];
    for (const stored of found.toSorted(
      (left, right) => left.record.createdAt - right.record.createdAt,
    )) {
      const { record } = stored;
      const kind = record.kind === "checkpoint" ? "paused" : record.kind;
      const before = this.get(kind, record.id);
      if (before) older.push(before);
      this.#stored.set(keyOf(kind, record.id), { ...stored, record: { ...record, kind } });
      if (record.kind !== kind) await this.#write(stored.folder);
      this.#shipped.add(record.recordId);
      // Half gone, and it stays after all.
      await this.leftovers.drop(record.recordId);
    }
    for (const stored of older) await this.#drop(stored);
  }

  /** Writes what is said of a record now, unless it is gone. */
  async #write(folder: string): Promise<void> {
    const stored = [...this.#stored.values()].find((one) => one.folder === folder);
    if (!stored) return;
    await replaceFile(join(folder, RECORD_FILE), JSON.stringify(writtenRecord(stored.record)));
  }

  async #drop({ folder, record }: StoredRecord): Promise<void> {
    const { org, recordId, kind } = record;
    if (org !== null && kind !== "copy" && this.#shipped.delete(recordId))
      await this.bury({ org, recordId });
    await this.#writing;
    await rm(join(folder, RECORD_FILE), { force: true });
    await rm(folder, { recursive: true, force: true });
    await this.releaseLayers(record.layers);
  }

  #needed(): Set<string> {
    const used = [...this.#used].filter(([, times]) => times > 0).map(([name]) => name);
    const running = this.#layersInUse.names;
    return new Set([
      ...used,
      ...running,
      ...[...this.#stored.values()].flatMap(({ record }) => record.layers),
    ]);
  }
}

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;

async function readRecord(folder: string): Promise<MachineRecord | null> {
  try {
    return MachineRecord.parse(JSON.parse(await readFile(join(folder, RECORD_FILE), "utf8")));
  } catch {
    return null;
  }
}
