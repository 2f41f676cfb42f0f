import type { Entry } from "@svc/contract/control-channel/file-methods.ts";
import type { Stats } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { basename } from "node:path";

/** A path as the channel describes it. Symbolic links are not followed. */
export async function entryOf(path: string): Promise<Entry> {
  const stats = await lstat(path);
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
    ...(type === "symlink" && { target: await readlink(path) }),
  };
}

function typeOf(stats: Stats): Entry["type"] {
  if (stats.isSymbolicLink()) return "symlink";
  if (stats.isDirectory()) return "directory";
  return stats.isFile() ? "file" : "other";
}
