import { type Dirent, type FSWatcher, lstatSync, readdirSync, watch } from "node:fs";
import { basename, join } from "node:path";

export interface TreeListener {
  /** The name of a path came or went (`rename`), or what has it changed (`change`). */
  heard: (event: string, path: string) => void;
  /** Events were lost. */
  overflow: () => void;
  failed: (error: unknown) => void;
}

/**
 * Watches a folder and every folder below it, one watch each. A watch reports names in its folder, so a file that an editor
 * replaces is still reported; Node's recursive watch would keep watching the old file. Links are not followed.
 */
export class WatchedTree {
  readonly #root: string;
  readonly #listener: TreeListener;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(root: string, listener: TreeListener) {
    this.#root = root;
    this.#listener = listener;
    for (const [path, entry] of this.#watch(root))
      if (entry.isDirectory()) this.#enter(path, false);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Watches one folder, and answers what lies in it by then. */
  #watch(folder: string): [string, Dirent][] {
    const watcher = watch(folder, (event, name) => this.#heard(folder, event, name));
    watcher.on("error", this.#listener.failed);
    this.#watchers.set(folder, watcher);
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.map((entry) => [join(folder, entry.name), entry]);
  }

  /** `isNew`: what lies in it came after the watch began, and is told. */
  #enter(folder: string, isNew: boolean): void {
    this.#leave(folder);
    try {
      for (const [path, entry] of this.#watch(folder)) {
        if (isNew) this.#listener.heard("rename", path);
        if (entry.isDirectory()) this.#enter(path, isNew);
      }
    } catch (error) {
      this.#leave(folder);
      // It went meanwhile: the folder around it tells that.
      if (stillThere(folder)) this.#listener.failed(error);
    }
  }

  /** It and what was below it are there no more, or are others. */
  #leave(folder: string): void {
    for (const [path, watcher] of this.#watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
  }

  #heard(folder: string, event: string, name: string | null): void {
    if (name === null) return this.#listener.overflow();
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    // Of the folder itself, by its own name; the one around it tells the same, where that is watched.
    if (!found && name === basename(folder) && !this.#watchers.has(path)) {
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
  lstatSync(path, { throwIfNoEntry: false }) !== undefined;
