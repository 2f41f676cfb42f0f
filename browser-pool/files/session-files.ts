import { type FileHandle, chmod, link, lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { constants } from "node:fs";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { fitName, freeName } from "@svc/contract/browser/file-name.ts";
import type { SlotFile, SlotFileRefusal } from "@svc/contract/host-protocol/slot-files.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { eachChunk } from "@svc/host-kit/each-chunk.ts";

/** Where the browser sees the files of its session. It cannot write there. */
export const SHOWN_AT = "/files";
const NAMELESS = "download";
const READ = constants.O_RDONLY | constants.O_NOFOLLOW;

/** A file that is open to be read. */
export interface OpenFile {
  handle: FileHandle;
  size: number;
  etag: string;
}

type Entry = Omit<SlotFile, "path">;

/** No bytes of a file, or no room for them. */
export interface NoFile {
  refused: SlotFileRefusal;
}

/**
 * The downloads and uploads of one session, by name, in a folder of the pool's own that the browser only reads. A download
 * is linked into it when it is whole: whoever made it may remove it where it was.
 */
export class SessionFiles {
  /** Aborts the transfers when the session ends. */
  readonly ended: AbortSignal;
  readonly #folders: { shown: string; incoming: string; downloads: string };
  readonly #end = new AbortController();
  /** By name, oldest first. */
  readonly #entries = new Map<string, Entry>();
  /** Downloads that are under way, by the browser's name for them. */
  readonly #underway = new Map<string, { entry: Entry; proposed: string }>();
  #settling: Promise<void> = Promise.resolve();
  /** Bytes of uploads that are coming in. */
  #arriving = 0;
  #transfers = 0;
  #count = 0;

  /** `folder`: of the pool's own. `downloads`: where the browser and Playwright put downloads. */
  constructor(folder: string, downloads: string) {
    this.ended = this.#end.signal;
    this.#folders = { shown: shownOf(folder), incoming: join(folder, "incoming"), downloads };
  }

  async prepare(): Promise<void> {
    await mkdir(this.#folders.shown, { recursive: true });
    await mkdir(this.#folders.incoming, { mode: 0o700 });
  }

  /** The session is over: transfers break off. */
  close(): void {
    this.#end.abort();
  }

  async list(): Promise<SlotFile[]> {
    await this.#settling;
    return [...this.#entries.values()].map((entry) => ({
      ...entry,
      path: `${SHOWN_AT}/${entry.name}`,
    }));
  }

  /** Counts a transfer for as long as `work` takes; null when there are too many. */
  async transfer<Result>(work: () => Promise<Result>): Promise<Result | null> {
    if (this.#transfers >= LIMITS.sessionTransfers) return null;
    this.#transfers += 1;
    try {
      return await work();
    } finally {
      this.#transfers -= 1;
    }
  }

  /** The browser has begun a download. */
  begin(guid: string, proposed: string): void {
    if (this.#underway.has(guid) || this.#entries.size >= LIMITS.sessionFiles) return;
    const name = freeName(fitName(proposed, NAMELESS), (taken) => this.#entries.has(taken));
    const state = "inProgress" as const;
    const entry: Entry = { name, bytes: 0, source: "download", state, at: Date.now() };
    this.#underway.set(guid, { entry, proposed });
    this.#entries.set(name, entry);
  }

  progress(guid: string, bytes: number): void {
    const download = this.#underway.get(guid);
    if (download && Number.isSafeInteger(bytes) && bytes >= 0) download.entry.bytes = bytes;
  }

  cancel(guid: string): void {
    const download = this.#underway.get(guid);
    this.#underway.delete(guid);
    if (download) this.#drop(download.entry);
  }

  /** A download is whole. `path`: where the browser says that it is. A client may have it keep its proposed name. */
  finish(guid: string, path: string | null): void {
    const download = this.#underway.get(guid);
    this.#underway.delete(guid);
    if (!download) return;
    const { entry, proposed } = download;
    const names = [path ?? guid, guid, proposed].map((one) => basename(one));
    this.#settling = this.#settling.then(() =>
      this.#keep(entry, names).catch(() => this.#drop(entry)),
    );
  }

  /** Opens a file to be read. */
  async read(name: string): Promise<OpenFile | NoFile> {
    await this.#settling;
    const entry = this.#entries.get(name);
    if (!entry) return { refused: "missing" };
    if (entry.state !== "complete") return { refused: entry.state };
    const handle = await open(join(this.#folders.shown, name), READ);
    const { size, ino, mtimeMs } = await handle.stat();
    const etag = `"${[size, ino, Math.trunc(mtimeMs)].map((one) => one.toString(36)).join("-")}"`;
    return { handle, size, etag };
  }

  /** Takes an upload to its end, and puts it in the place of a file of that name. */
  async write(name: string, body: Readable): Promise<{ path: string; bytes: number } | NoFile> {
    if (!this.#entries.has(name) && this.#entries.size >= LIMITS.sessionFiles)
      return { refused: "overQuota" };
    // A body that is cut before it is read says so when it is read.
    body.on("error", () => {});
    const incoming = this.#newPath();
    let bytes = 0;
    try {
      const refused = await this.#receive(incoming, body, (chunk) => {
        bytes += chunk;
        this.#arriving += chunk;
        if (bytes > LIMITS.sessionFileBytes) return "tooLarge";
        return this.#held > LIMITS.sessionFilesBytes ? "overQuota" : null;
      });
      if (refused) return { refused };
      this.#arriving -= bytes;
      await this.#place(incoming, {
        name,
        bytes,
        source: "upload",
        state: "complete",
        at: Date.now(),
      });
      bytes = 0;
      return { path: `${SHOWN_AT}/${name}`, bytes: this.#entries.get(name)?.bytes ?? 0 };
    } finally {
      this.#arriving -= bytes;
      await rm(incoming, { force: true });
    }
  }

  get #held(): number {
    const kept = [...this.#entries.values()].filter(({ state }) => state === "complete");
    return kept.reduce((sum, { bytes }) => sum + bytes, this.#arriving);
  }

  async #receive(
    path: string,
    body: Readable,
    count: (bytes: number) => SlotFileRefusal | null,
  ): Promise<SlotFileRefusal | null> {
    const file = await open(path, "wx", 0o600);
    let refused: SlotFileRefusal | null = null;
    const over = Promise.withResolvers<void>();
    const end = (): void => {
      refused = "ended";
      over.resolve();
    };
    this.ended.addEventListener("abort", end);
    if (this.ended.aborted) end();
    try {
      await eachChunk(
        body,
        async (chunk) => {
          refused ??= count(chunk.length);
          if (refused === null) await writeAll(file, chunk);
          return refused === null;
        },
        over.promise,
      );
    } finally {
      this.ended.removeEventListener("abort", end);
      await file.close();
    }
    return refused;
  }

  async #keep(entry: Entry, names: string[]): Promise<void> {
    const incoming = this.#newPath();
    try {
      await this.#link(names, incoming);
      const found = await lstat(incoming);
      // A link or a folder, put in the place of the download by the browser's user.
      if (!found.isFile()) return this.#drop(entry);
      entry.bytes = found.size;
      // An upload may have taken its name.
      const isTaken = (name: string): boolean => (this.#entries.get(name) ?? entry) !== entry;
      entry.name = freeName(entry.name, isTaken);
      this.#entries.set(entry.name, entry);
      if (found.size > LIMITS.sessionFileBytes) entry.state = "tooLarge";
      else if (this.#held + found.size > LIMITS.sessionFilesBytes) entry.state = "overQuota";
      else await this.#place(incoming, { ...entry, state: "complete" });
    } finally {
      await rm(incoming, { force: true });
    }
  }

  async #link(names: string[], to: string): Promise<void> {
    for (const name of names) {
      const from = join(this.#folders.downloads, name);
      const isLinked = await link(from, to).then(
        () => true,
        () => false,
      );
      if (isLinked) return;
    }
    throw new Error("the download is gone");
  }

  /** Shows a file that has arrived. */
  async #place(incoming: string, entry: Entry): Promise<void> {
    if (entry.source === "upload") await chmod(incoming, 0o644);
    await rename(incoming, join(this.#folders.shown, entry.name));
    this.#entries.set(entry.name, entry);
  }

  #drop(entry: Entry): void {
    // An upload may have taken its place.
    if (this.#entries.get(entry.name) === entry) this.#entries.delete(entry.name);
  }

  #newPath(): string {
    this.#count += 1;
    return join(this.#folders.incoming, String(this.#count));
  }
}

/** The folder that the browser sees as `SHOWN_AT`. */
export const shownOf = (folder: string): string => join(folder, "shown");

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at);
    at += bytesWritten;
  }
}
