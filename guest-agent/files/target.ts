import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Stats } from "node:fs";
import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errnoOf, shown } from "./errors.ts";
import { RAW, bytesOf, textOf } from "./names.ts";
import { checkPlain } from "./plain-file.ts";

/** Links that are followed one after the other: as many as the kernel follows. */
const LINKS_MAX = 40;

/** Where a write ends up: the file behind all links, and what is there by now. */
export interface Target {
  path: string;
  stats: Stats | null;
}

/** Follows links, also one that points to what is not there yet. Refuses what is no plain file. */
export async function targetOf(path: string): Promise<Target> {
  const stats = await stat(bytesOf(path)).catch(nothing);
  if (stats) {
    checkPlain(path, stats);
    return { path: await realPath(path), stats };
  }
  let at = path;
  for (let left = LINKS_MAX; left > 0; left -= 1) {
    if (at.endsWith("/")) throw refuse("IsDirectory", `${shown(path)}: it names a directory`);
    const folder = await realPath(dirname(at));
    const link = await readlink(bytesOf(at), RAW).catch(() => null);
    if (link === null) return { path: `${folder}/${basename(at)}`, stats: null };
    const to = textOf(link);
    // Not joined: `..` behind a link is for the kernel to follow.
    at = to.startsWith("/") ? to : `${folder}/${to}`;
  }
  throw Object.assign(new Error("a circle of links"), { code: "ELOOP" });
}

const realPath = async (path: string): Promise<string> =>
  textOf(await realpath(bytesOf(path), RAW));

function nothing(error: unknown): null {
  if (errnoOf(error) !== "ENOENT") throw error;
  return null;
}
