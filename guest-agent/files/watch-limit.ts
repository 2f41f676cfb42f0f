import { refuse } from "@svc/contract/control-channel/rpc-error.ts";
import type { FSWatcher } from "node:fs";

/** Folders and files that all watches of the agent have together. The image lets programs of the machine have as many again. */
export const WATCHED_MAX = 65_536;
/** The kernel's own limits of watches, and of programs that watch. */
const LIMIT_REACHED = ["ENOSPC", "EMFILE"];

let count = 0;

/** Begins a watch of one path, and counts it until it is closed. Refused by `TooLarge` where a limit is reached. */
export function countedWatch(path: string, begin: () => FSWatcher): FSWatcher {
  if (count >= WATCHED_MAX)
    throw refuse(
      "TooLarge",
      `${path}: ${WATCHED_MAX} folders are watched already, no more can be: watch fewer folders.`,
    );
  try {
    const watcher = begin();
    count += 1;
    watcher.once("close", () => (count -= 1));
    return watcher;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!LIMIT_REACHED.includes(code)) throw error;
    throw refuse(
      "TooLarge",
      `${path}: this machine has no watch left: watch fewer folders, or raise fs.inotify in /proc/sys.`,
    );
  }
}
