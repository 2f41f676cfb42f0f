import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const MEMORY = "/dev/shm";
/** Less than that is a container's own small share. */
const LEAST_BYTES = 2 * 1024 ** 3;

/**
 * Where a gateway of a test keeps its state. Each step of an object is written through to the disk: in memory no test
 * waits for that. Where there is little memory to write to, it is the folder of temporary files.
 */
export function stateFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize >= LEAST_BYTES) return MEMORY;
  } catch {
    // Not every system has one.
  }
  return tmpdir();
}
