import { basename } from "node:path";

/** Files that are remembered. */
const REPLACED_MAX = 1_000;

/** By inode: the names of files whose content the agent has replaced. To a watch each looks like a new file. */
const replaced = new Map<number, string>();

/** The file of that path is about to be another inode, with another content. */
export function noteReplaced(path: string, inode: number): void {
  if (replaced.size >= REPLACED_MAX) replaced.clear();
  replaced.set(inode, basename(path));
}

/** Whether what seems to be a new file is an old one with another content. */
export function isReplaced(path: string, inode: number): boolean {
  return replaced.get(inode) === basename(path);
}
