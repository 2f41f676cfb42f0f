import { randomBytes } from "node:crypto";
import { type Stats, constants } from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errnoOf } from "./errors.ts";
import { bytesOf } from "./names.ts";
import { openPlain } from "./plain-file.ts";
import { type Target, targetOf } from "./target.ts";

/** A name of its own: one made of the file's name could be longer than a name may be. */
const PREFIX = ".svc-write-";
const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Nobody else reads a draft of a file that may be nobody else's. */
const PRIVATE_MODE = 0o600;
const COPY_BYTES = 1024 * 1024;

/** Whether a path is that of a draft: a watch does not tell of these. */
export const isDraftName = (path: string): boolean => basename(path).startsWith(PREFIX);

/** Drafts that are remembered. */
const REPLACING_MAX = 1_000;
/** Drafts that have taken the name of a file that was there. A watch hears of a move, of which it knows one name only. */
const replacing = new Set<string>();

function noteReplacing(draft: string): void {
  if (replacing.size >= REPLACING_MAX) replacing.clear();
  replacing.add(basename(draft));
}

/** Whether that draft has given a file new content, and not made a new file. */
export const isReplacing = (draft: string): boolean => replacing.has(basename(draft));

/** A path in the folder of another that nothing has yet. */
export const draftBeside = (path: string): string =>
  `${dirname(path)}/${PREFIX}${randomBytes(8).toString("hex")}`;

/** The new content of a file, beside it until it is whole. Until `put`, and if that fails, the file keeps its old content. */
export class Draft {
  readonly file: FileHandle;
  readonly #path: string;
  readonly #target: Target;

  private constructor(file: FileHandle, path: string, target: Target) {
    this.file = file;
    this.#path = path;
    this.#target = target;
  }

  static async begin(target: Target, mode: number): Promise<Draft> {
    const { path, stats } = target;
    const beside = draftBeside(path);
    const file = await open(bytesOf(beside), FLAGS, stats ? PRIVATE_MODE : mode);
    return new Draft(file, beside, target);
  }

  /** The file has the new content, on disk. An existing file keeps its owner, its group and, unless `mode` is given, its mode. */
  async put(mode: number | undefined): Promise<void> {
    const { path, stats: before } = this.#target;
    const { stats } = await targetOf(path);
    // A file with several names, or with a mount on it, is itself written: another one would not be all of these.
    if (stats && stats.nlink > 1) return this.#overwrite(mode);
    const like = stats ?? before;
    if (like) await this.#take(like);
    if (mode !== undefined) await this.file.chmod(mode);
    await this.file.sync();
    if (stats) noteReplacing(this.#path);
    try {
      await rename(bytesOf(this.#path), bytesOf(path));
    } catch (error) {
      if (errnoOf(error) !== "EBUSY" || !stats) throw error;
      await this.#overwrite(mode);
    }
  }

  /** Closes it. What was not put is gone. */
  async end(): Promise<void> {
    await this.file.close();
    // Whatever was put has another name by now.
    await unlink(bytesOf(this.#path)).catch(() => {});
  }

  async #take({ uid, gid, mode }: Stats): Promise<void> {
    const own = await this.file.stat();
    if (own.uid !== uid || own.gid !== gid) await this.file.chown(uid, gid);
    await this.file.chmod(mode & 0o7777);
  }

  /** What makes the file longer goes first: only that needs room on the disk, and it can be taken back. */
  async #overwrite(mode: number | undefined): Promise<void> {
    const { file: opened, stats } = await openPlain(this.#target.path, constants.O_WRONLY);
    await using file = opened;
    const { size } = await this.file.stat();
    try {
      await copy(this.file, file, stats.size, size);
      await file.sync();
    } catch (error) {
      await file.truncate(stats.size);
      throw error;
    }
    await copy(this.file, file, 0, Math.min(size, stats.size));
    await file.truncate(size);
    if (mode !== undefined) await file.chmod(mode);
    await file.sync();
  }
}

async function copy(from: FileHandle, to: FileHandle, start: number, end: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(COPY_BYTES, end - start)));
  for (let at = start; at < end;) {
    const length = Math.min(buffer.length, end - at);
    const { bytesRead } = await from.read(buffer, 0, length, at);
    if (bytesRead === 0) return;
    for (let done = 0; done < bytesRead;) {
      const { bytesWritten } = await to.write(buffer, done, bytesRead - done, at + done);
      done += bytesWritten;
    }
    at += bytesRead;
  }
}
