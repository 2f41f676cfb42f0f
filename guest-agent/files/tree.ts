import type { FileEvent } from "@svc/contract/control-channel/file-methods.ts";
import { lstatSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errnoOf } from "./errors.ts";
import { type WatchedFolder, type Watcher, unwatchFolder, watchFolder } from "./inotify.ts";
import { IN, type InotifyEvent } from "./inotify-event.ts";
import { kernelFoldersBelow } from "./kernel-folders.ts";
import { Moves } from "./moves.ts";
import { RAW, bytesOf, textOf } from "./names.ts";

export interface TreeListener {
  told: (type: FileEvent["type"], path: string) => void;
  /** A name has left. `to` is where it is by now; null: not in the tree. */
  moved: (from: string, to: Promise<string | null>) => void;
  /** Events were lost. */
  overflow: () => void;
  failed: (error: unknown) => void;
}

/** A folder of the tree. It is told by its place below another, so that a move of thousands is a change of one. */
class Folder implements WatchedFolder {
  readonly watcher: WatchedTree;
  parent: Folder | null;
  name: string;
  readonly below = new Map<string, Folder>();
  watch: number | null = null;
  /** All that lies in it is known. */
  isRead = false;
  /** It came after the watch began, and not all that lies in it has been told. */
  isUntold: boolean;
  isLost = false;

  constructor(watcher: WatchedTree, parent: Folder | null, name: string, isUntold: boolean) {
    this.watcher = watcher;
    this.parent = parent;
    this.name = name;
    this.isUntold = isUntold;
    parent?.below.set(name, this);
  }

  get path(): string {
    return this.parent ? join(this.parent.path, this.name) : this.name;
  }

  heard(event: InotifyEvent): void {
    this.watcher.heard(this, event);
  }

  /** It and all below it. */
  *all(): Generator<Folder> {
    for (const waiting: Folder[] = [this]; waiting.length > 0;) {
      const folder = waiting.pop();
      if (!folder) return;
      waiting.push(...folder.below.values());
      yield folder;
    }
  }
}

/** Folders that are read at once. */
const READERS_MAX = 4;

/**
 * Watches a folder and, if it is `recursive`, every folder below it, one watch each. A watch reports names in its folder, so a
 * file that an editor replaces is still reported. Links are not followed; /proc and /sys are left out unless the tree begins
 * there. The agent serves others between two folders.
 */
export class WatchedTree implements Watcher {
  readonly #root: Folder;
  readonly #listener: TreeListener;
  readonly #isRecursive: boolean;
  readonly #skipped: ReadonlySet<string>;
  readonly #waiting = new Set<Folder>();
  /** Folders whose list had a folder that was not there: it went, or a move that is not yet told took it away. */
  readonly #doubtful = new Set<Folder>();
  readonly #moves = new Moves<Folder | null>();
  #readers = 0;

  /** `real` is the root without links. */
  constructor(root: string, real: string, listener: TreeListener, { recursive = true } = {}) {
    this.#listener = listener;
    this.#isRecursive = recursive;
    this.#root = new Folder(this, null, resolve(root), false);
    this.#skipped = kernelFoldersBelow(this.#root.path, real);
    this.#enter(this.#root);
  }

  close(): void {
    this.#leave(this.#root);
    this.#moves.close();
  }

  failed(error: unknown): void {
    this.#listener.failed(error);
  }

  /** Every folder is looked at again: those that came meanwhile are watched, those that went are not. */
  lostEvents(): void {
    this.#listener.overflow();
    for (const folder of this.#root.all()) this.#readAgain(folder);
  }

  /** Of what a kernel tells at once, only the kind of the event is looked at: each comes alone. */
  heard(folder: Folder, { mask, cookie, name: raw }: InotifyEvent): void {
    if (folder.isLost) return;
    if (mask & IN.ignored) folder.watch = null;
    else if (raw === "") this.#ofItself(folder, mask);
    else {
      const name = textOf(raw);
      const path = join(folder.path, name);
      const isFolder = (mask & IN.isFolder) !== 0;
      if (mask & IN.modify) this.#listener.told("write", path);
      else if (mask & IN.attributes) this.#listener.told("chmod", path);
      else if (mask & IN.create) this.#came(folder, name, isFolder);
      else if (mask & IN.delete) this.#went(folder, name);
      else if (mask & IN.movedFrom) this.#left(folder, name, cookie);
      else if (mask & IN.movedTo) this.#arrived(folder, name, { cookie, isFolder });
    }
  }

  /** What is told of a folder itself, the one around it tells, too. */
  #ofItself(folder: Folder, mask: number): void {
    const isGone = folder === this.#root && mask & (IN.deleteSelf | IN.moveSelf);
    if (isGone && !stillThere(folder.path)) this.#listener.told("remove", folder.path);
  }

  #came(folder: Folder, name: string, isFolder: boolean): void {
    this.#listener.told("create", join(folder.path, name));
    if (isFolder) this.#add(folder, name, true);
  }

  #went(folder: Folder, name: string): void {
    this.#listener.told("remove", join(folder.path, name));
    this.#leave(folder.below.get(name));
  }

  #left(folder: Folder, name: string, cookie: number): void {
    const moved = folder.below.get(name) ?? null;
    folder.below.delete(name);
    const to = this.#moves.from(cookie, moved);
    this.#listener.moved(join(folder.path, name), to);
    if (moved) void to.then((path) => path === null && this.#leave(moved));
  }

  #arrived(
    folder: Folder,
    name: string,
    { cookie, isFolder }: { cookie: number; isFolder: boolean },
  ) {
    const path = join(folder.path, name);
    const moved = this.#moves.to(cookie, path);
    if (moved === undefined) this.#listener.told("create", path);
    const over = folder.below.get(name);
    this.#leave(over);
    // Unless the two have changed places, what was there is no more.
    if (over) this.#readAgain(folder);
    if (!isFolder) return;
    if (!moved) this.#add(folder, name, moved === undefined);
    else {
      moved.parent = folder;
      moved.name = name;
      folder.below.set(name, moved);
      this.#enter(moved);
    }
    for (const doubtful of this.#doubtful) this.#readAgain(doubtful);
    this.#doubtful.clear();
  }

  #add(parent: Folder, name: string, isNew: boolean): void {
    if (!this.#isRecursive || this.#skipped.has(join(parent.path, name))) return;
    const known = parent.below.get(name);
    if (!known) return this.#enter(new Folder(this, parent, name, isNew));
    if (!isNew) return;
    known.isUntold = true;
    this.#readAgain(known);
  }

  #readAgain(folder: Folder): void {
    folder.isRead = false;
    this.#enter(folder);
  }

  #enter(folder: Folder): void {
    this.#waiting.add(folder);
    if (this.#readers < READERS_MAX) void this.#read();
  }

  async #read(): Promise<void> {
    this.#readers += 1;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      if (!next.isLost) await this.#look(next);
    }
    this.#readers -= 1;
  }

  /** Watches a folder where it is now, and then looks what lies in it by then. */
  async #look(folder: Folder): Promise<void> {
    const { path } = folder;
    try {
      const watch = await watchFolder(path, folder, { isLinkFollowed: folder === this.#root });
      if (folder.isLost) return unwatchFolder(watch, folder);
      this.#isWatched(folder, watch);
      if (!folder.isRead && this.#isRecursive) await this.#list(folder, path);
    } catch (error) {
      this.#notThere(folder, path, error);
    }
  }

  /** Another watch than before is one of another folder. */
  #isWatched(folder: Folder, watch: number): void {
    const before = folder.watch;
    folder.watch = watch;
    if (before === null || before === watch) return;
    unwatchFolder(before, folder);
    for (const one of folder.below.values()) this.#leave(one);
    folder.isRead = false;
  }

  async #list(folder: Folder, path: string): Promise<void> {
    const entries = await readdir(bytesOf(path), { withFileTypes: true, encoding: RAW });
    if (folder.isLost) return;
    const { isUntold } = folder;
    const gone = new Set(folder.below.keys());
    folder.isRead = true;
    folder.isUntold = false;
    for (const entry of entries) {
      const name = textOf(entry.name);
      if (isUntold) this.#listener.told("create", join(path, name));
      if (!entry.isDirectory()) continue;
      gone.delete(name);
      this.#add(folder, name, isUntold);
    }
    for (const name of gone) if (!stillThere(join(path, name))) this.#leave(folder.below.get(name));
  }

  #notThere(folder: Folder, path: string, error: unknown): void {
    if (folder.isLost) return;
    if (folder.path !== path) return this.#enter(folder);
    const { parent } = folder;
    const isGone = ["ENOENT", "ENOTDIR"].includes(errnoOf(error));
    if (!parent || !isGone) return this.#listener.failed(error);
    this.#leave(folder);
    this.#doubtful.add(parent);
  }

  /** A folder and what was below it are in the tree no more. */
  #leave(left: Folder | undefined): void {
    if (!left) return;
    const { parent, name } = left;
    if (parent?.below.get(name) === left) parent.below.delete(name);
    for (const folder of left.all()) {
      folder.isLost = true;
      this.#waiting.delete(folder);
      this.#doubtful.delete(folder);
      if (folder.watch !== null) unwatchFolder(folder.watch, folder);
    }
  }
}

const stillThere = (path: string): boolean =>
  lstatSync(bytesOf(path), { throwIfNoEntry: false }) !== undefined;
