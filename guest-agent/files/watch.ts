import type { FileEvent } from "@svc/contract/control-channel/file-methods.ts";
import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { type Stats, watch } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { onPath } from "./errors.ts";
import { WatchedTree } from "./tree.ts";

interface Watch {
  path: string;
  recursive: boolean;
}

/** Tells what happens below a path until the request is cancelled. */
export async function watchFiles({ path, recursive }: Watch, context: RequestContext) {
  const isFolder = (await onPath(path, () => stat(path))).isDirectory();
  const { promise, reject } = Promise.withResolvers<never>();
  const { signal, notify, id } = context;
  const judge = new ChangeJudge();
  let order = Promise.resolve();
  const tell = async (event: string, name: string | null): Promise<void> => {
    if (name === null) notify("files.event", { id, type: "overflow", path } satisfies FileEvent);
    else await tellOne(event, isFolder ? join(path, name) : path);
  };
  const tellOne = async (event: string, where: string): Promise<void> => {
    const type = await judge.typeOf(event, where);
    if (type) notify("files.event", { id, type, path: where } satisfies FileEvent);
  };
  // One after another, so that events keep their order.
  const then = (act: () => Promise<void>): void => void (order = order.then(act));
  const watcher =
    isFolder && recursive
      ? new WatchedTree(path, {
          heard: (event, where) => then(() => tellOne(event, where)),
          overflow: () => then(() => tell("", null)),
          failed: reject,
        })
      : watch(path, (event, name) => then(() => tell(event, name)));
  if ("on" in watcher) watcher.on("error", reject);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  try {
    return await promise;
  } finally {
    watcher.close();
  }
}

/** The file systems' clock ticks in steps as long as this. */
const TICK_MS = 20;
/** More files than this are not remembered one by one. */
const FILES_MOST = 10_000;

/** Node tells a change of a name, or one of content or rights: what is there now tells which. */
class ChangeJudge {
  readonly #startedAt = Date.now();
  /** When the content of files changed last, as far as it was told. */
  readonly #written = new Map<string, number>();

  /** Null: nothing worth telling. */
  async typeOf(event: string, path: string): Promise<FileEvent["type"] | null> {
    const found = await lstat(path).catch(() => null);
    const isWrite = found !== null && this.#isWrite(path, found);
    if (event !== "change") return found ? "create" : "remove";
    // Its removal is told next.
    if (!found) return null;
    return isWrite ? "write" : "chmod";
  }

  #isWrite(path: string, { mtimeMs, ctimeMs }: Stats): boolean {
    const before = this.#written.get(path);
    if (this.#written.size >= FILES_MOST) this.#written.clear();
    this.#written.set(path, mtimeMs);
    if (before === undefined) return mtimeMs >= this.#startedAt - TICK_MS;
    // Several writes may be seen with the time of the last; a change of rights moves the other time only.
    return mtimeMs !== before || mtimeMs === ctimeMs;
  }
}
