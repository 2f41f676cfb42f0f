import { open, readFile, stat } from "node:fs/promises";

export const PAGE_BYTES = 4096;
const ENTRY_BYTES = 8;
/** Of the upper half of a pagemap entry: the page is in memory, in swap, or that of a file. */
const PRESENT = 0x8000_0000;
const SWAPPED = 0x4000_0000;
const FILE = 0x2000_0000;

/** Where a process has a file in its memory. */
export interface Region {
  start: number;
  bytes: number;
}

/** Finds the private mapping of a file in a process. Throws when there is none, or it is in pieces. */
export async function regionOf(pid: number, file: string): Promise<Region> {
  const { ino, size } = await stat(file);
  const maps = await readFile(`/proc/${pid}/maps`, "utf8");
  for (const line of maps.split("\n")) {
    const [, from, to, inode] = /^(\w+)-(\w+) \S+ \S+ \S+ (\d+)/.exec(line) ?? [];
    if (from === undefined || to === undefined || Number(inode) !== ino) continue;
    const start = Number.parseInt(from, 16);
    const bytes = Number.parseInt(to, 16) - start;
    if (bytes === size) return { start, bytes };
  }
  throw new Error("the machine does not have its golden machine in memory");
}

/**
 * The pages of a private mapping that are the process's own, no longer the file's: pairs of first page and count, as one
 * flat list.
 */
export async function ownRuns(pid: number, { start, bytes }: Region): Promise<Uint32Array> {
  const pages = bytes / PAGE_BYTES;
  const entries = new Uint32Array(pages * 2);
  const file = await open(`/proc/${pid}/pagemap`);
  try {
    const view = new Uint8Array(entries.buffer);
    for (let at = 0; at < view.length;) {
      const position = (start / PAGE_BYTES) * ENTRY_BYTES + at;
      const { bytesRead } = await file.read(view, at, view.length - at, position);
      if (bytesRead === 0) throw new Error("the machine's memory is not mapped");
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
  return runsIn(entries);
}

/** Upper halves are the odd words. */
function runsIn(entries: Uint32Array): Uint32Array {
  const runs: number[] = [];
  let first = -1;
  const pages = entries.length / 2;
  for (let page = 0; page < pages; page += 1) {
    const isOwn = isOwnPage(entries[2 * page + 1] ?? 0);
    if (isOwn && first < 0) first = page;
    if (isOwn || first < 0) continue;
    runs.push(first, page - first);
    first = -1;
  }
  if (first >= 0) runs.push(first, pages - first);
  return Uint32Array.from(runs);
}

function isOwnPage(upper: number): boolean {
  return (upper & SWAPPED) !== 0 || ((upper & PRESENT) !== 0 && (upper & FILE) === 0);
}
