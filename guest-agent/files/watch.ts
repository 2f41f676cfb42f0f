import type { FileEvent } from "@svc/contract/control-channel/file-methods.ts";
import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { type Stats, watch } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isDraftName } from "./draft.ts";
import { onPath } from "./errors.ts";
import { EventLine } from "./event-line.ts";
import { RAW, bytesOf, textOf } from "./names.ts";
import { isReplaced } from "./replaced.ts";
import { WatchedTree } from "./tree.ts";
import { countedWatch } from "./watch-limit.ts";

interface Watch {
  path: string;
  recursive: boolean;
}

/** Tells what happens below a path until the request is cancelled. */
export async function watchFiles({ path, recursive }: Watch, context: RequestContext) {
  const { real, isFolder } = await onPath(path, () => lookAt(path));
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const { signal, notify, id } = context;
  const judge = new ChangeJudge();
  const tell = (type: FileEvent["type"], where: string): void =>
    notify("files.event", { id, type, path: where } satisfies FileEvent);
  const line = new EventLine(() => tell("overflow", path));
  const overflow = (): void => line.add(async () => tell("overflow", path));
  const heard = (event: string, where: string): void => {
    if (isDraftName(basename(where))) return;
    line.add(async () => {
      const type = await judge.typeOf(event, where);
      if (type) tell(type, where);
    });
  };
  const one = (event: string, name: string | null): void =>
    name === null ? overflow() : heard(event, isFolder ? join(path, textOf(name)) : path);
  const watcher = await onPath(path, async () =>
    isFolder && recursive
      ? new WatchedTree(path, real, { heard, overflow, failed: reject })
      : countedWatch(path, () => watch(bytesOf(path), RAW, one)),
  );
  if ("on" in watcher) watcher.on("error", reject);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  if (signal.aborted) reject(signal.reason);
  try {
    return await onPath(path, () => promise);
  } finally {
    watcher.close();
  }
}

async function lookAt(path: string): Promise<{ real: string; isFolder: boolean }> {
  const [real, stats] = await Promise.all([realpath(bytesOf(path), RAW), stat(bytesOf(path))]);
  return { real: textOf(real), isFolder: stats.isDirectory() };
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
    const found = await lstat(bytesOf(path)).catch(() => null);
    const isWrite = found !== null && this.#isWrite(path, found);
    if (event !== "change") return nameEvent(path, found);
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

/** A name came or went. A file that the agent has replaced has another content, and has never been away. */
function nameEvent(path: string, found: Stats | null): FileEvent["type"] {
  if (!found) return "remove";
  return isReplaced(path, found) ? "write" : "create";
}
