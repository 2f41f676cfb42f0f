import { type FSWatcher, lstatSync, watch } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { kernelFoldersBelow } from "./kernel-folders.ts";
import { RAW, bytesOf, textOf } from "./names.ts";
import { countedWatch } from "./watch-limit.ts";

export interface TreeListener {
  /** The name of a path came or went (`rename`), or what has it changed (`change`). */
  heard: (event: string, path: string) => void;
  /** Events were lost. */
  overflow: () => void;
  failed: (error: unknown) => void;
}

/** A folder that is watched, and those in it that are. */
interface Folder {
  watcher: FSWatcher;
  below: Set<string>;
  /** The folder came after the watch began, and not all that lies in the folder has been told. */
  isUntold: boolean;
}

/** Folders that are read at once. */
const READERS_MAX = 4;

/**
 * Watches a folder and every folder below it, one watch each. A watch reports names in its folder, so a file that an editor
 * replaces is still reported; Node's recursive watch would keep watching the old file. Links are not followed; /proc and
 * /sys are left out unless the tree begins there. The agent serves others between two folders.
 */
export class WatchedTree {
  readonly #root: string;
  readonly #listener: TreeListener;
  readonly #skipped: ReadonlySet<string>;
  readonly #folders = new Map<string, Folder>();
  /** Folders to be watched. `isNew`: what lies in it came after the watch began, and is told. */
  readonly #waiting: { path: string; isNew: boolean }[] = [];
  #readers = 0;
  #isClosed = false;

  /** `real` is the root without links. */
  constructor(root: string, real: string, listener: TreeListener) {
    this.#root = resolve(root);
    this.#listener = listener;
    this.#skipped = kernelFoldersBelow(this.#root, real);
    this.#enter(this.#root, false);
  }

  close(): void {
    this.#isClosed = true;
    this.#leave(this.#root);
  }

  #enter(path: string, isNew: boolean): void {
    this.#waiting.push({ path, isNew });
    if (this.#readers < READERS_MAX) void this.#read();
  }

  async #read(): Promise<void> {
    this.#readers += 1;
    for (let next = this.#waiting.pop(); next && !this.#isClosed; next = this.#waiting.pop())
      await this.#watch(next.path, next.isNew);
    this.#readers -= 1;
  }

  /** Watches one folder, and then looks what lies in it by then. */
  async #watch(path: string, isNew: boolean): Promise<void> {
    // The folder around it went meanwhile.
    if (path !== this.#root && !this.#folders.has(dirname(path))) return this.#leave(path);
    try {
      const folder = this.#add(path, isNew);
      const { isUntold } = folder;
      const gone = new Set(folder.below);
      for (const entry of await readdir(bytesOf(path), {
        withFileTypes: true,
        encoding: RAW,
      })) {
        // The folder went meanwhile, or another folder has its name by now.
        if (this.#folders.get(path) !== folder) return;
        const found = join(path, textOf(entry.name));
        if (entry.isDirectory()) gone.delete(found);
        if (isUntold) this.#listener.heard("rename", found);
        if (entry.isDirectory() && !this.#skipped.has(found)) this.#enter(found, isUntold);
      }
      folder.isUntold = false;
      for (const one of gone) if (!stillThere(one)) this.#leave(one);
    } catch (error) {
      this.#leave(path);
      // The folder around it tells that it went.
      if (!this.#isClosed && stillThere(path)) this.#listener.failed(error);
    }
  }

  /**
   * Watches a folder, again if it was watched: two names may tell of one folder, or another folder has its name by now. The
   * old watch ends when the new one stands: what the kernel holds for it, if it is the same folder, comes to the new one.
   */
  #add(path: string, isNew: boolean): Folder {
    const before = this.#folders.get(path);
    const watcher = countedWatch(path, () =>
      watch(bytesOf(path), RAW, (event, name) => this.#heard(path, event, name)),
    );
    watcher.on("error", this.#listener.failed);
    before?.watcher.close();
    const { below = new Set<string>(), isUntold = false } = before ?? {};
    const folder: Folder = { watcher, below, isUntold: isNew || isUntold };
    this.#folders.set(path, folder);
    this.#folders.get(dirname(path))?.below.add(path);
    return folder;
  }

  /** A folder and what was below it are there no more, or are others. */
  #leave(path: string): void {
    this.#folders.get(dirname(path))?.below.delete(path);
    for (const leaving = [path]; leaving.length > 0;) {
      const one = leaving.pop() ?? path;
      const folder = this.#folders.get(one);
      if (!folder) continue;
      folder.watcher.close();
      this.#folders.delete(one);
      leaving.push(...folder.below);
    }
  }

  #heard(folder: string, event: string, raw: string | null): void {
    if (raw === null) return this.#listener.overflow();
    const name = textOf(raw);
    const path = join(folder, name);
    const found = lstatSync(bytesOf(path), { throwIfNoEntry: false });
    // Of the folder itself, by its own name; the one around it tells the same, where that is watched.
    if (!found && name === basename(folder) && !this.#folders.has(path)) {
      if (folder === this.#root && !stillThere(folder)) this.#listener.heard("rename", folder);
      return;
    }
    this.#listener.heard(event, path);
    if (event !== "rename") return;
    if (found?.isDirectory()) this.#enter(path, true);
    else this.#leave(path);
  }
}

const stillThere = (path: string): boolean =>
  lstatSync(bytesOf(path), { throwIfNoEntry: false }) !== undefined;
