import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Stats } from "node:fs";
import { lstat, realpath, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { copyTree } from "./copy-tree.ts";
import { draftBeside } from "./draft.ts";
import { errnoOf, onPath, shown } from "./errors.ts";
import { makeParents } from "./make-folders.ts";
import { RAW, bytesOf } from "./names.ts";

/** Moves a path, also to another file system. A move that fails leaves both paths as they were. */
export async function move(params: { from: string; to: string; overwrite: boolean }) {
  const { from, to, overwrite } = params;
  await onPath(from, () => lstat(bytesOf(from)));
  const there = await onPath(to, () => found(to));
  if (there && !overwrite)
    throw refuse("AlreadyExists", `${shown(to)}: it exists already: set overwrite to replace it`);
  await onPath(`${shown(from)} to ${shown(to)}`, async () => {
    await makeParents(to);
    await rename(bytesOf(from), bytesOf(to)).catch((error: unknown) => {
      if (errnoOf(error) === "EXDEV") return moveAcross(from, to);
      if (errnoOf(error) !== "EINVAL") throw error;
      throw intoItself(from);
    });
  });
  return { ok: true as const };
}

/** Copies it beside its new place first: there it appears whole, or not at all. */
async function moveAcross(from: string, to: string): Promise<void> {
  if (await isWithin(dirname(to), from)) throw intoItself(from);
  const draft = draftBeside(to);
  try {
    await copyTree(from, draft);
    await rename(bytesOf(draft), bytesOf(to));
  } catch (error) {
    await rm(bytesOf(draft), { recursive: true, force: true });
    throw error;
  }
  await rm(bytesOf(from), { recursive: true });
}

/** Whether a folder is another one, or lies in it. */
async function isWithin(folder: string, outer: string): Promise<boolean> {
  const [inside, around] = await Promise.all(
    [folder, outer].map((one) => realpath(bytesOf(one), RAW)),
  );
  return `${inside}/`.startsWith(`${around}/`);
}

const intoItself = (from: string): Error =>
  refuse("InvalidPath", `${shown(from)}: a directory cannot be moved into itself`);

/** What is there; null where nothing is. */
async function found(path: string): Promise<Stats | null> {
  return lstat(bytesOf(path)).catch((error: unknown) => {
    if (errnoOf(error) !== "ENOENT") throw error;
    return null;
  });
}
