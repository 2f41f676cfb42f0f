import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Stats } from "node:fs";
import {
  chmod,
  copyFile,
  lchown,
  lstat,
  lutimes,
  mkdir,
  opendir,
  readlink,
  symlink,
} from "node:fs/promises";
import { shown } from "./errors.ts";
import { RAW, bytesOf, textOf } from "./names.ts";

/** Copies a file, a link or a folder with all that is in it: owners, modes and times, too. Links are not followed. */
export async function copyTree(from: string, to: string): Promise<void> {
  const stats = await lstat(bytesOf(from));
  await copyOne(from, to, stats);
  const { uid, gid, mode, atime, mtime } = stats;
  await lchown(bytesOf(to), uid, gid);
  // The owner first: a change of the owner clears bits of the mode.
  if (!stats.isSymbolicLink()) await chmod(bytesOf(to), mode & 0o7777);
  await lutimes(bytesOf(to), atime, mtime);
}

async function copyOne(from: string, to: string, stats: Stats): Promise<void> {
  if (stats.isFile()) return copyFile(bytesOf(from), bytesOf(to));
  if (stats.isSymbolicLink())
    return symlink(bytesOf(textOf(await readlink(bytesOf(from), RAW))), bytesOf(to));
  if (!stats.isDirectory()) {
    const words = "only files, links and directories can move to another file system";
    throw refuse("Unsupported", `${shown(from)}: ${words}`);
  }
  await mkdir(bytesOf(to));
  for await (const entry of await opendir(bytesOf(from), { encoding: RAW })) {
    const name = textOf(entry.name);
    await copyTree(`${from}/${name}`, `${to}/${name}`);
  }
}
