import { NotRestorable } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";

const TAKEN = 3;
const CHECK_MS = 10_000;
/** Looks at each part of a path, the last one first, for what is there and no folder. */
const LOOK = [
  'p=$1; while [ "$p" != / ]; do',
  `{ [ -e "$p" ] || [ -L "$p" ]; } && [ ! -d "$p" ] && exit ${TAKEN};`,
  'p=$(dirname -- "$p"); done',
].join(" ");

/** Where a volume shall be the machine has something that is no folder: no other try helps. */
export class PathTaken extends NotRestorable {
  constructor(path: string) {
    super(
      `No volume can be mounted at ${path}: that is no folder, or not all of the way there is.`,
    );
  }
}

/** Throws `PathTaken`. What cannot be told is left to the mount itself. */
export async function checkPath(guest: Guest, path: string): Promise<void> {
  const look = { cmd: "/bin/sh", args: ["-c", LOOK, "sh", path], cwd: "/", timeoutMs: CHECK_MS };
  const found = await guest.exec(look).catch(() => null);
  if (found?.exitCode === TAKEN) throw new PathTaken(path);
}
