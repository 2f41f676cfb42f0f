import type { Stats } from "node:fs";
import { basename } from "node:path";

/** Files that are remembered. */
const REPLACED_MAX = 1_000;

/** The names of files whose content the agent has replaced. To a watch each looks like a new file. */
const replaced = new Map<string, string>();

/** What is one file alone: a number is given again once its file is gone. */
const identityOf = ({ ino, birthtimeMs }: Stats): string => `${ino} ${birthtimeMs}`;

/** The file of that path is about to be another one, with another content. */
export function noteReplaced(path: string, stats: Stats): void {
  if (replaced.size >= REPLACED_MAX) replaced.clear();
  replaced.set(identityOf(stats), basename(path));
}

/** Whether what seems to be a new file is an old one with another content. */
export function isReplaced(path: string, stats: Stats): boolean {
  return replaced.get(identityOf(stats)) === basename(path);
}
