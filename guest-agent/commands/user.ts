import { constants } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A FIFO of that name holds no thread. */
const READ = { encoding: "utf8", flag: constants.O_RDONLY | constants.O_NONBLOCK } as const;

/** Where commands run and as whom, unless they say otherwise: what a custom template has made of its machines. */
export interface Defaults {
  cwd?: string | undefined;
  user?: string | undefined;
}

/** A user of the machine, of /etc/passwd. */
export interface User {
  name: string;
  uid: string;
  gid: string;
  home: string;
}

/** Null where the machine has no such user. */
export async function userOf(name: string, root = "/"): Promise<User | null> {
  const text = await readFile(join(root, "etc/passwd"), READ).catch(() => "");
  for (const line of text.split("\n")) {
    const [found, , uid, gid, , home] = line.split(":");
    if (found === name && uid && gid && home) return { name, uid, gid, home };
  }
  return null;
}

/** A command as this user runs it: no process is between, so that signals and its end are its own. */
export function commandAs({ uid, gid }: User, cmd: string, args: string[]): [string, string[]] {
  const ids = ["--reuid", uid, "--regid", gid, "--init-groups"];
  return ["setpriv", [...ids, "--", cmd, ...args]];
}
