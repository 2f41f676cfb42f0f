import { type Entry, FILE_METHODS } from "@svc/contract/control-channel/file-methods.ts";
import { refuse } from "@svc/contract/control-channel/rpc-error.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { cp, lstat, mkdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { method } from "../method.ts";
import { entryOf } from "./entry.ts";
import { onPath } from "./errors.ts";
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
      await onPath(path, () => mkdir(path, { recursive: true }));
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

async function move({ from, to, overwrite }: { from: string; to: string; overwrite: boolean }) {
  await onPath(from, () => lstat(from));
  if (!overwrite && (await exists(to))) throw refuse("AlreadyExists", `${to}: it exists already`);
  await onPath(to, async () => {
    await mkdir(dirname(to), { recursive: true });
    await rename(from, to).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EXDEV") throw error;
      await cp(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
      await rm(from, { recursive: true });
    });
  });
  return DONE;
}

async function remove(path: string, isRecursive: boolean): Promise<void> {
  const isFolder = (await lstat(path)).isDirectory();
  if (!isFolder) await unlink(path);
  else if (isRecursive) await rm(path, { recursive: true });
  else await rmdir(path);
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
