import type { Entry } from "@svc/contract/control-channel/file-methods.ts";
import type { Stats } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { basename } from "node:path";
import { RAW, bytesOf, textOf } from "./names.ts";

/** A path as the channel describes it. Symbolic links are not followed. */
export async function entryOf(path: string): Promise<Entry> {
  const bytes = bytesOf(path);
  const stats = await lstat(bytes);
  const type = typeOf(stats);
  return {
    name: basename(path),
    path,
    type,
    size: stats.size,
    mode: stats.mode & 0o7777,
    mtime: stats.mtime.toISOString(),
    owner: stats.uid,
    group: stats.gid,
    ...(type === "symlink" && { target: textOf(await readlink(bytes, RAW)) }),
  };
}

function typeOf(stats: Stats): Entry["type"] {
  if (stats.isSymbolicLink()) return "symlink";
  if (stats.isDirectory()) return "directory";
  return stats.isFile() ? "file" : "other";
}
