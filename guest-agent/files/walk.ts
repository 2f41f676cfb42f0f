import { opendir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { kernelFoldersBelow } from "./kernel-folders.ts";
import { RAW, bytesOf, textOf } from "./names.ts";

export interface Found {
  path: string;
  isDirectory: boolean;
  isFile: boolean;
}

/**
 * Entries below a folder, a level at a time, at most `depth` levels. Folders that cannot be read are left out, as is
 * what lies in /proc and /sys unless the walk begins there.
 */
export async function* walk(root: string, depth: number): AsyncGenerator<Found> {
  const skipped = kernelFoldersBelow(root, textOf(await realpath(bytesOf(root), RAW)));
  let level = [root];
  for (let left = depth; left > 0 && level.length > 0; left -= 1) {
    const next: string[] = [];
    for (const folder of level) {
      for await (const found of children(folder, folder === root)) {
        yield found;
        if (found.isDirectory && !skipped.has(found.path)) next.push(found.path);
      }
    }
    level = next;
  }
}

async function* children(folder: string, isRoot: boolean): AsyncGenerator<Found> {
  const entries = await opendir(bytesOf(folder), { encoding: RAW }).catch((error: unknown) => {
    if (isRoot) throw error;
    return null;
  });
  if (!entries) return;
  for await (const entry of entries)
    yield {
      path: join(folder, textOf(entry.name)),
      isDirectory: entry.isDirectory(),
      isFile: entry.isFile(),
    };
}
