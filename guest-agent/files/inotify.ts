import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { getSystemErrorName } from "node:util";
import { IN, type InotifyEvent, eventsIn } from "./inotify-event.ts";
import { INOTIFY_SCRIPT } from "./inotify-script.ts";
import { bytesOf } from "./names.ts";

/** Folders that all watches of the agent have together. The image lets programs of the machine have as many again. */
export const WATCHED_MAX = 65_536;
/** The kernel's own limits of watches, and of programs that watch. */
const LIMIT_REACHED = ["ENOSPC", "EMFILE"];
const HEAD_BYTES = 12;
const MASK =
  IN.modify | IN.attributes | IN.movedFrom | IN.movedTo | IN.create | IN.delete | IN.deleteSelf;
const HOW = IN.moveSelf | IN.onlyFolders | IN.onlyNamed;

/** Who watches folders. */
export interface Watcher {
  /** Events of some of its folders were lost. */
  lostEvents(): void;
  /** Nothing will be told any more. */
  failed(error: unknown): void;
}

/** A folder of a watcher. */
export interface WatchedFolder {
  readonly watcher: Watcher;
  heard(event: InotifyEvent): void;
}

interface Order {
  /** The folder to be watched; none waits for `sync`. */
  folder: WatchedFolder | null;
  resolve: (watch: number) => void;
  reject: (error: unknown) => void;
}

let current: Inotify | null = null;
let count = 0;

/** Watches the folder that a path names, and gives the kernel's number of the watch: two paths of one folder have the same. */
export function watchFolder(
  path: string,
  folder: WatchedFolder,
  { isLinkFollowed = false } = {},
): Promise<number> {
  if (count >= WATCHED_MAX)
    return Promise.reject(
      refuse(
        "TooLarge",
        `${path}: ${WATCHED_MAX} folders are watched already, no more can be: watch fewer folders.`,
      ),
    );
  current ??= new Inotify((ended) => (current = current === ended ? null : current));
  return current.add(path, MASK | HOW | (isLinkFollowed ? 0 : IN.followNoLink), folder);
}

/** Ends what `watchFolder` began. */
export function unwatchFolder(watch: number, folder: WatchedFolder): void {
  current?.remove(watch, folder);
}

/** Resolves when all that has happened until now has been heard. */
export async function heardAll(): Promise<void> {
  await current?.sync();
}

/** One life of the program that watches: from the first watch to the last. */
class Inotify {
  readonly #child: ChildProcess;
  readonly #onEnd: (self: Inotify) => void;
  readonly #folders = new Map<number, Set<WatchedFolder>>();
  readonly #orders = new Map<number, Order>();
  /** Watches that nobody has any more. Each ends once no order is under way: an order may be about to give the watch out. */
  readonly #unused = new Set<number>();
  #next = 1;
  #rest: Buffer = Buffer.alloc(0);
  #isEnded = false;

  constructor(onEnd: (self: Inotify) => void) {
    this.#onEnd = onEnd;
    this.#child = spawn("perl", ["-e", INOTIFY_SCRIPT, process.arch], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#child.once("error", () => this.#gone());
    this.#child.once("close", () => this.#gone());
  }

  async add(path: string, mask: number, folder: WatchedFolder): Promise<number> {
    count += 1;
    try {
      return await this.#ask(
        "add",
        folder,
        String(mask),
        Buffer.from(bytesOf(path)).toString("hex"),
      );
    } catch (error) {
      count -= 1;
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (!LIMIT_REACHED.includes(code)) throw error;
      throw refuse(
        "TooLarge",
        `${path}: this machine has no watch left: watch fewer folders, or raise fs.inotify in /proc/sys.`,
      );
    } finally {
      this.#tidy();
    }
  }

  async sync(): Promise<void> {
    await this.#ask("sync", null);
    this.#tidy();
  }

  remove(watch: number, folder: WatchedFolder): void {
    const folders = this.#folders.get(watch);
    if (!folders?.delete(folder)) return;
    count -= 1;
    if (folders.size > 0) return;
    this.#folders.delete(watch);
    this.#unused.add(watch);
    this.#tidy();
  }

  #ask(order: string, folder: WatchedFolder | null, ...words: string[]): Promise<number> {
    const number = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#isEnded) return reject(ended());
      this.#orders.set(number, { folder, resolve, reject });
      this.#tell(order, String(number), ...words);
    });
  }

  #tell(...words: string[]): void {
    this.#child.stdin?.write(`${words.join(" ")}\n`);
  }

  /** Without orders and folders the program ends, and all its watches with it. */
  #tidy(): void {
    if (this.#isEnded || this.#orders.size > 0) return;
    if (this.#folders.size === 0) return this.#end();
    for (const watch of this.#unused)
      if (!this.#folders.has(watch)) this.#tell("end", String(watch));
    this.#unused.clear();
  }

  #end(): void {
    this.#isEnded = true;
    this.#child.stdin?.end();
    this.#onEnd(this);
  }

  #read(chunk: Buffer): void {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    while (bytes.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + bytes.readUInt32BE(8);
      if (bytes.length < end) break;
      const number = bytes.readUInt32BE(0);
      if (number === 0)
        for (const event of eventsIn(bytes.subarray(HEAD_BYTES, end))) this.#hear(event);
      else this.#answer(number, bytes.readInt32BE(4));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }

  // The folder is known before the next message is read: that may be its first event.
  #answer(number: number, result: number): void {
    const order = this.#orders.get(number);
    this.#orders.delete(number);
    if (!order) return;
    if (result < 0) return order.reject(errorOf(result));
    if (order.folder) {
      const folders = this.#folders.get(result) ?? new Set();
      // A folder that is watched again counts once.
      if (folders.has(order.folder)) count -= 1;
      this.#folders.set(result, folders.add(order.folder));
    }
    order.resolve(result);
  }

  #hear(event: InotifyEvent): void {
    if (event.mask & IN.overflow) {
      for (const watcher of this.#watchers()) watcher.lostEvents();
      return;
    }
    const folders = this.#folders.get(event.watch);
    if (event.mask & IN.ignored) {
      this.#folders.delete(event.watch);
      this.#unused.delete(event.watch);
      count -= folders?.size ?? 0;
    }
    for (const folder of folders ?? []) folder.heard(event);
  }

  #watchers(): Set<Watcher> {
    const folders = [...this.#folders.values()].flatMap((some) => [...some]);
    return new Set(folders.map(({ watcher }) => watcher));
  }

  #gone(): void {
    const watchers = this.#watchers();
    for (const { size } of this.#folders.values()) count -= size;
    this.#folders.clear();
    for (const { reject } of this.#orders.values()) reject(ended());
    this.#orders.clear();
    if (!this.#isEnded) this.#end();
    for (const watcher of watchers) watcher.failed(ended());
  }
}

const ended = (): Error =>
  refuse("Busy", "The program that watches files for the agent has ended: watch again.");

function errorOf(errno: number): Error {
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`inotify_add_watch: ${code}`), {
    code,
    errno,
    syscall: "inotify_add_watch",
  });
}
