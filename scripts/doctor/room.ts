import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { availableParallelism, freemem, totalmem } from "node:os";
import { dirname, resolve } from "node:path";
import { cacheDirOf } from "../../vm-host/config.ts";
import { START_SETTINGS } from "../start/settings.ts";
import type { Finding } from "../../cli/doctor/finding.ts";

const GIB = 1024 ** 3;
/** Images, golden machines, and disks of some machines. */
const CACHE_BYTES = 10 * GIB;
const STATE_BYTES = 2 * GIB;
/** A browser or two, and a machine. */
const MEMORY_BYTES = 2 * GIB;

/** Disk and memory. */
export async function lookAtRoom(): Promise<Finding[]> {
  const cache = cacheDirOf(process.env);
  const state = START_SETTINGS.stateDir.read(process.env.SVC_STATE_DIR);
  return [
    await lookAtDisk("disk for machines", resolve(cache), CACHE_BYTES, "SVC_CACHE_DIR"),
    await lookAtDisk("disk for state", resolve(state), STATE_BYTES, "SVC_STATE_DIR"),
    lookAtMemory(),
  ];
}

async function lookAtDisk(
  what: string,
  folder: string,
  least: number,
  variable: string,
): Promise<Finding> {
  const { bavail, bsize } = await statfs(nearest(folder));
  const free = bavail * bsize;
  const note = `${gib(free)} free for ${folder}`;
  if (free >= least) return { what, state: "ok", note };
  const fix = `export ${variable}=/a/larger/disk`;
  return { what, state: "weak", note: `${note}; ${gib(least)} are better`, fix };
}

function lookAtMemory(): Finding {
  const note = `${gib(freemem())} free of ${gib(totalmem())}, ${availableParallelism()} processors`;
  return { what: "memory", state: freemem() < MEMORY_BYTES ? "weak" : "ok", note };
}

/** The folder may not be made yet: it will lie on the disk of the one above. */
const nearest = (folder: string): string =>
  existsSync(folder) || folder === dirname(folder) ? folder : nearest(dirname(folder));

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
