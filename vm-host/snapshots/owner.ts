import { readFile, readdir, readlink, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import * as z from "zod";

export const OWNER_FILE = "owner.json";

/** Whose records a folder holds: those of one state folder. */
const Owner = z.object({ state: z.string(), inode: z.string(), pidNamespace: z.string() });
type Owner = z.infer<typeof Owner>;

export async function ownerOf(stateDir: string): Promise<Owner> {
  const state = resolve(stateDir);
  const { dev, ino } = await stat(state);
  return { state, inode: `${dev}:${ino}`, pidNamespace: await pidNamespace() };
}

const pidNamespace = (): Promise<string> => readlink("/proc/self/ns/pid").catch(() => "");

/** Removes records of state folders that are gone. Those of another container's cannot be judged from here. */
export async function removeOrphans(all: string, mine: string): Promise<void> {
  for (const name of await readdir(all)) {
    const folder = join(all, name);
    const text = await readFile(join(folder, OWNER_FILE), "utf8").catch(() => "null");
    const owner = Owner.safeParse(parsed(text)).data;
    if (!owner || owner.pidNamespace !== mine) continue;
    const found = await stat(owner.state).catch(() => null);
    if (found && `${found.dev}:${found.ino}` === owner.inode) continue;
    await rm(folder, { recursive: true, force: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
