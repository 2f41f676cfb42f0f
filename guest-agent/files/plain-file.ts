import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import { type Stats, constants } from "node:fs";
import { type FileHandle, open, readlink, stat } from "node:fs/promises";
import { errnoOf, onPath, shown } from "./errors.ts";
import { RAW, bytesOf, textOf } from "./names.ts";

/** Not blocking: a FIFO or device must not hold a thread. A terminal must not become the agent's. */
const OPEN_FLAGS = constants.O_NONBLOCK | constants.O_NOCTTY;

export interface PlainFile {
  file: FileHandle;
  stats: Stats;
}

/** Opens a plain file. Refuses folders by `IsDirectory`, and FIFOs, devices and sockets by `Unsupported`. */
export async function openPlain(path: string, flags: number, mode?: number): Promise<PlainFile> {
  const bytes = bytesOf(path);
  const file = await onPath(path, () =>
    open(bytes, flags | OPEN_FLAGS, mode).catch((error: unknown) => explain(path, error)),
  );
  try {
    const stats = await file.stat();
    checkPlain(path, stats);
    return { file, stats };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Refuses what is no plain file, and says what it is. */
export function checkPlain(path: string, stats: Stats): void {
  if (!stats.isFile()) throw notPlain(path, stats);
}

function notPlain(path: string, stats: Stats): RpcError {
  if (stats.isDirectory()) return refuse("IsDirectory", `${shown(path)}: it is a directory`);
  return refuse("Unsupported", `${shown(path)}: it is ${kindOf(stats)}, not a plain file`);
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "a FIFO";
  return stats.isSocket() ? "a socket" : "a device";
}

/** Why a file could not be opened: a FIFO that nobody reads, a socket, a link that points nowhere. */
async function explain(path: string, error: unknown): Promise<never> {
  if (errnoOf(error) === "ENOENT") await refuseDangling(path);
  const stats = await stat(bytesOf(path)).catch(() => null);
  if (stats && !stats.isFile()) throw notPlain(path, stats);
  throw error;
}

async function refuseDangling(path: string): Promise<void> {
  const target = await readlink(bytesOf(path), RAW).catch(() => null);
  if (target === null) return;
  const words = `it is a link to ${shown(textOf(target))}, which is not there`;
  throw refuse("NotFound", `${shown(path)}: ${words}`);
}
