import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

const LOOK_MS = 2_000;
const BLOCK_BYTES = 512;

/** What a folder may hold. */
export interface FolderCap {
  bytes: number;
  entries: number;
}

/**
 * Looks now and then at how much a folder holds on disk, and calls `onOver` once when that is more than its cap. Returns the
 * end of the watch. For folders that two users write to: no file system of its own can be put there without root.
 */
export function watchFolder(folder: string, cap: FolderCap, onOver: () => void): () => void {
  let isLooking = false;
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    clearInterval(timer);
  };
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    const isOver = await holdsMore(folder, { ...cap });
    isLooking = false;
    if (!isOver || isStopped) return;
    stop();
    onOver();
  };
  const timer = setInterval(() => void look(), LOOK_MS).unref();
  return stop;
}

/** Uses up what is `left`. Files come and go meanwhile: what is gone counts nothing. */
async function holdsMore(folder: string, left: FolderCap): Promise<boolean> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  left.entries -= entries.length;
  if (left.entries < 0) return true;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (await holdsMore(path, left)) return true;
    } else left.bytes -= ((await lstat(path).catch(() => null))?.blocks ?? 0) * BLOCK_BYTES;
    if (left.bytes < 0) return true;
  }
  return false;
}
