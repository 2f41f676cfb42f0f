import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { NOTE } from "./note.ts";

const BLOCK_BYTES = 512;

/** Where golden machines lie; other hosts of this computer use the same folder. The cache's word for them is templates. */
export const goldenIn = (cacheDir: string): string => join(cacheDir, "templates");

/** Makes the folder of golden machines, and removes what builds that broke off have left in it. */
export async function openGoldenFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  for (const name of await readdir(folder))
    if (isAbandoned(name)) await rm(join(folder, name), { recursive: true, force: true });
  return folder;
}

/** Whether nobody builds this any more: another host may be at work in the same folder. */
function isAbandoned(name: string): boolean {
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

/** What a golden machine takes on the disk, and when it was used last. Another host may be about to drop it. */
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
