import { type Entry, FILE_METHODS } from "@svc/contract/control-channel/file-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { lstat, rm, rmdir, unlink } from "node:fs/promises";
import { method } from "@svc/contract/control-channel/method.ts";
import { entryOf } from "./entry.ts";
import { errnoOf, onPath, shown } from "./errors.ts";
import { makeFolders } from "./make-folders.ts";
import { move } from "./move.ts";
import { bytesOf } from "./names.ts";
import { search } from "./search.ts";
import { readFile, writeFile } from "./transfer.ts";
import { walk } from "./walk.ts";
import { watchFiles } from "./watch.ts";

const DONE = { ok: true } as const;

/** The namespace `files`. */
export function fileMethods(): Record<string, Method> {
  return {
    "files.read": method(FILE_METHODS["files.read"], readFile),
    "files.write": method(FILE_METHODS["files.write"], writeFile),
    "files.list": method(FILE_METHODS["files.list"], list),
    "files.stat": method(FILE_METHODS["files.stat"], ({ path }) =>
      onPath(path, () => entryOf(path)),
    ),
    "files.search": method(FILE_METHODS["files.search"], (params, { signal }) =>
      onPath(params.path, () => search(params, signal)),
    ),
    "files.mkdir": method(FILE_METHODS["files.mkdir"], async ({ path }) => {
      await onPath(path, () => makeFolders(path));
      return DONE;
    }),
    "files.move": method(FILE_METHODS["files.move"], move),
    "files.remove": method(FILE_METHODS["files.remove"], async ({ path, recursive }) => {
      await onPath(path, () => remove(path, recursive));
      return DONE;
    }),
    "files.watch": method(FILE_METHODS["files.watch"], watchFiles),
  };
}

async function list(params: { path: string; depth: number; limit: number }) {
  const { path, depth, limit } = params;
  const entries: Entry[] = [];
  let isTruncated = false;
  await onPath(path, async () => {
    for await (const found of walk(path, depth)) {
      isTruncated = entries.length >= limit;
      if (isTruncated) break;
      // It may have gone since its folder was read.
      const entry = await entryOf(found.path).catch(() => null);
      if (entry) entries.push(entry);
    }
  });
  return { entries, truncated: isTruncated };
}

async function remove(path: string, isRecursive: boolean): Promise<void> {
  const bytes = bytesOf(path);
  const isFolder = (await lstat(bytes)).isDirectory();
  if (!isFolder) return unlink(bytes);
  if (isRecursive) return rm(bytes, { recursive: true });
  await rmdir(bytes).catch((error: unknown) => {
    if (errnoOf(error) !== "ENOTEMPTY") throw error;
    const words = "the directory is not empty: set recursive to remove what is in it, too";
    throw refuse("NotEmpty", `${shown(path)}: ${words}`);
  });
}
