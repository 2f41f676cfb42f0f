import { createHash } from "node:crypto";
import {
  link,
  mkdir,
  open,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Log } from "@svc/host-kit/log.ts";
import * as z from "zod";
import { RECORD_FILE, SnapshotRecord } from "./record.ts";

export const OWNER_FILE = "owner.json";
const DRAFT = ".tmp";
const BLOCK_BYTES = 512;

/** Whose records a folder holds: those of one state folder. */
const Owner = z.object({ state: z.string(), inode: z.string(), pidNamespace: z.string() });

/** A record and where it lies. */
export interface Kept {
  folder: string;
  record: SnapshotRecord;
}

/** What a host keeps of machines that do not run: it outlives the host's process. */
export class Store {
  /** Disks of machines and records. Not a run's: they go from one to the next. */
  readonly layers: string;
  readonly #folder: string;
  readonly #log: Log;
  /** Layers of machines that have not ended. */
  inUse: () => string[] = () => [];
  readonly #kept = new Map<string, Kept>();
  /** Layers in use besides: of machines, and of those on their way. */
  readonly #used = new Map<string, number>();

  private constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
    this.layers = join(folder, "layers");
  }

  /** Reads what is there, and removes what was never finished or belongs to nobody any more. */
  static async open(cacheDir: string, stateDir: string, log: Log): Promise<Store> {
    const all = join(cacheDir, "records");
    await mkdir(all, { recursive: true, mode: 0o711 });
    const owner = await ownerOf(stateDir);
    await removeOrphans(all, owner.pidNamespace);
    const store = new Store(join(all, hashText(owner.inode)), log);
    await mkdir(store.layers, { recursive: true, mode: 0o711 });
    await writeFile(join(store.#folder, OWNER_FILE), JSON.stringify(owner), { mode: 0o600 });
    await store.#read();
    return store;
  }

  get(kind: SnapshotRecord["kind"], id: string): Kept | undefined {
    return this.#kept.get(keyOf(kind, id));
  }

  all(kind: SnapshotRecord["kind"]): SnapshotRecord[] {
    return [...this.#kept.values()].map(({ record }) => record).filter((one) => one.kind === kind);
  }

  /** A folder to write a record's files into. */
  async draft(kind: SnapshotRecord["kind"], id: string): Promise<string> {
    const folder = `${this.#placeOf(kind, id)}${DRAFT}`;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  /** Makes a draft a record, all at once: on the disk first, then under its name. */
  async commit(draft: string, record: SnapshotRecord): Promise<Kept> {
    const { kind, id } = record;
    await writeFile(join(draft, RECORD_FILE), JSON.stringify(record), { mode: 0o600 });
    const files = (await readdir(draft)).map((name) => join(draft, name));
    await Promise.all(
      [...files, ...record.layers.map((name) => join(this.layers, name))].map(sync),
    );
    await sync(draft);
    const folder = this.#placeOf(kind, id);
    const before = this.get(kind, id);
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
    await sync(this.#folder);
    const kept = { folder, record };
    this.#kept.set(keyOf(kind, id), kept);
    if (before) await this.releaseLayers(before.record.layers);
    return kept;
  }

  /** Gives a draft the files of a record, which are never written again. */
  async linkFiles({ folder }: Kept, draft: string): Promise<void> {
    for (const name of await readdir(folder))
      if (name !== RECORD_FILE) await link(join(folder, name), join(draft, name));
  }

  /** Says that a record's disk has other layers now, which hold the same. */
  async useLayers({ folder, record }: Kept, layers: string[]): Promise<void> {
    const file = join(folder, RECORD_FILE);
    const changed = { ...record, layers };
    await writeFile(`${file}.new`, JSON.stringify(changed), { mode: 0o600 });
    await sync(`${file}.new`);
    await rename(`${file}.new`, file);
    this.#kept.set(keyOf(record.kind, record.id), { folder, record: changed });
    await this.releaseLayers(record.layers);
  }

  /** Forgets a record: its name goes first, so that half of one is never found. */
  async remove(kind: SnapshotRecord["kind"], id: string): Promise<void> {
    const kept = this.#kept.get(keyOf(kind, id));
    if (!kept) return;
    this.#kept.delete(keyOf(kind, id));
    await rm(join(kept.folder, RECORD_FILE), { force: true });
    await rm(kept.folder, { recursive: true, force: true });
    await this.releaseLayers(kept.record.layers);
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
  isOnlyOf(record: SnapshotRecord, layer: string): boolean {
    if ((this.#used.get(layer) ?? 0) > 0 || this.inUse().map(nameOf).includes(layer)) return false;
    const records = [...this.#kept.values()].map((kept) => kept.record);
    return !records.some((one) => one !== record && one.layers.includes(layer));
  }

  pathsOf({ layers }: SnapshotRecord): string[] {
    return layers.map((name) => join(this.layers, name));
  }

  /** Removes those of these layers that nobody needs. */
  async releaseLayers(layers: string[]): Promise<void> {
    const needed = this.#needed();
    for (const name of layers.map(nameOf))
      if (!needed.has(name)) await rm(join(this.layers, name), { force: true });
  }

  async #read(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const folder = join(this.#folder, name);
      if (name === OWNER_FILE || folder === this.layers) continue;
      const record = name.endsWith(DRAFT) ? null : await readRecord(folder);
      if (record) this.#kept.set(keyOf(record.kind, record.id), { folder, record });
      else await rm(folder, { recursive: true, force: true });
      if (!record) this.#log.warn({ folder: name }, "a record that was not finished is removed");
    }
    await this.releaseLayers(await readdir(this.layers));
  }

  #needed(): Set<string> {
    const used = [...this.#used].filter(([, times]) => times > 0).map(([name]) => name);
    const running = this.inUse().map(nameOf);
    return new Set([
      ...used,
      ...running,
      ...[...this.#kept.values()].flatMap(({ record }) => record.layers),
    ]);
  }

  #placeOf(kind: string, id: string): string {
    // An id may be longer than a file's name may be, and tells whose machine it is.
    return join(this.#folder, `${kind}-${hashText(id)}`);
  }
}

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const hashText = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 24);

/** What the files of a folder, and these besides, take on the disk. */
export async function sizeOf(folder: string, others: string[]): Promise<number> {
  const names = (await readdir(folder)).map((name) => join(folder, name));
  const stats = await Promise.all([...names, ...others].map((path) => stat(path)));
  return stats.reduce((sum, { blocks }) => sum + blocks * BLOCK_BYTES, 0);
}

async function readRecord(folder: string): Promise<SnapshotRecord | null> {
  try {
    return SnapshotRecord.parse(JSON.parse(await readFile(join(folder, RECORD_FILE), "utf8")));
  } catch {
    return null;
  }
}

export async function sync(path: string): Promise<void> {
  const file = await open(path);
  await file.sync().finally(() => file.close());
}

export async function ownerOf(stateDir: string): Promise<z.infer<typeof Owner>> {
  const state = resolve(stateDir);
  const { dev, ino } = await stat(state);
  return { state, inode: `${dev}:${ino}`, pidNamespace: await pidNamespace() };
}

const pidNamespace = (): Promise<string> => readlink("/proc/self/ns/pid").catch(() => "");

/** Records of state folders that are gone. Those of another container's cannot be judged from here. */
export async function removeOrphans(all: string, mine: string): Promise<void> {
  for (const name of await readdir(all)) {
    const folder = join(all, name);
    const text = await readFile(join(folder, OWNER_FILE), "utf8").catch(() => "null");
    const owner = Owner.safeParse(parsed(text)).data;
    if (!owner || owner.pidNamespace !== mine) continue;
    const found = await stat(owner.state).catch(() => null);
    if (found && `${found.dev}:${found.ino}` === owner.inode) continue;
    await rm(folder, { recursive: true, force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
