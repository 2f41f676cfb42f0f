import { readdir, stat } from "node:fs/promises";
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

/** What a template takes on the disk, and when it was used last. */
export async function sizeOf(folder: string, name: string) {
  const files = await readdir(join(folder, name)).catch(() => []);
  const stats = await Promise.all(files.map((file) => stat(join(folder, name, file))));
  const bytes = stats.reduce((sum, { blocks }) => sum + blocks * BLOCK_BYTES, 0);
  const usedAt = await stat(join(folder, name, NOTE)).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  return { name, bytes, usedAt };
}
