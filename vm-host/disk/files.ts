import { createHash } from "node:crypto";
import { open, readdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

const BLOCK_BYTES = 512;

export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** A file's name for what may be longer than one may be, and tells whose machine it is. */
export const hashText = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 24);

/** What the files of a folder, and these besides, take on the disk. */
export async function sizeOf(folder: string, others: string[]): Promise<number> {
  const names = (await readdir(folder)).map((name) => join(folder, name));
  const stats = await Promise.all([...names, ...others].map((path) => stat(path)));
  return stats.reduce((sum, { blocks }) => sum + blocks * BLOCK_BYTES, 0);
}

/** Returns when a file, or the names in a folder, are on the disk. */
export async function sync(path: string): Promise<void> {
  const file = await open(path);
  await file.sync().finally(() => file.close());
}

/** Replaces a file all at once: a crash leaves the old content or the new. `draft` lies beside it until then. */
export async function replaceFile(
  file: string,
  content: string | Uint8Array,
  { draft = `${file}.new`, mode = 0o600 }: { draft?: string; mode?: number } = {},
): Promise<void> {
  await writeFile(draft, content, { mode });
  await sync(draft);
  await rename(draft, file);
}

export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
