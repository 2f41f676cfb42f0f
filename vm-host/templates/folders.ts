import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The file that says what a template is made of; it is written last. */
export const NOTE = "template.json";
const BLOCK_BYTES = 512;

/** Whether nobody builds this any more: another host may be at work in the same folder. */
export function isAbandoned(name: string): boolean {
  const pid = Number(/\.(\d+)\.tmp$/.exec(name)?.[1] ?? Number.NaN);
  if (Number.isNaN(pid)) return false;
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/** What a template takes on the disk, and when it was used last. Another host may be about to drop it. */
export async function sizeOf(folder: string, name: string) {
  const files = await readdir(join(folder, name)).catch(() => []);
  const blocks = await Promise.all(
    files.map((file) =>
      stat(join(folder, name, file)).then(
        (found) => found.blocks,
        () => 0,
      ),
    ),
  );
  const bytes = blocks.reduce((sum, count) => sum + count * BLOCK_BYTES, 0);
  const usedAt = await stat(join(folder, name, NOTE)).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  return { name, bytes, usedAt };
}

/** SHA-256 of a small file. */
export async function digest(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

/** What tells that a file is the one that it was, without reading it. */
export async function fingerprint(
  file: string,
): Promise<{ inode: string; size: string; changedNs: string }> {
  const { ino, size, ctimeNs } = await stat(file, { bigint: true });
  return { inode: String(ino), size: String(size), changedNs: String(ctimeNs) };
}
