import { refuse } from "@svc/contract/control-channel/rpc-error.ts";
import { type Stats, constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { onPath } from "./errors.ts";

/** Not blocking: a FIFO or device must not hold a thread. A terminal must not become the agent's. */
export const OPEN_FLAGS = constants.O_NONBLOCK | constants.O_NOCTTY;

export interface PlainFile {
  file: FileHandle;
  stats: Stats;
}

/** Opens a plain file. Refuses folders by `IsDirectory`, and FIFOs, devices and sockets by `Unsupported`. */
export async function openPlain(path: string, flags: number, mode?: number): Promise<PlainFile> {
  const file = await onPath(path, () => open(path, flags | OPEN_FLAGS, mode));
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw refuse("IsDirectory", `${path}: it is a directory`);
    if (!stats.isFile()) throw refuse("Unsupported", `${path}: it is not a plain file`);
    return { file, stats };
  } catch (error) {
    await file.close();
    throw error;
  }
}
