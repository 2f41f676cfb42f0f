import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf } from "./errors.ts";
import { bytesOf } from "./names.ts";

/** Makes a folder and those around it. Not by Node, which calls every failure "no such file", a read-only disk, too. */
export async function makeFolders(path: string): Promise<void> {
  await makeOne(path).catch(async (error: unknown) => {
    const around = dirname(path);
    if (errnoOf(error) !== "ENOENT" || around === path) throw error;
    await makeFolders(around);
    await makeOne(path);
  });
}

async function makeOne(path: string): Promise<void> {
  await mkdir(bytesOf(path)).catch(async (error: unknown) => {
    const there = await stat(bytesOf(path)).catch(() => null);
    if (!there?.isDirectory()) throw error;
  });
}

/** Makes the folders around a path. */
export async function makeParents(path: string): Promise<void> {
  await makeFolders(dirname(path)).catch((error: unknown) => {
    if (errnoOf(error) !== "EEXIST") throw error;
    throw Object.assign(new Error("a file is in the way"), { code: "ENOTDIR" });
  });
}
