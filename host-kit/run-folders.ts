import { chmod, readFile, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { factsOf } from "./processes.ts";

const NOTE = "owner.json";
const REMOVE_TRIES = 200;
const REMOVE_PAUSE_MS = 50;

/** The process that a folder of a run belongs to; the note lies in the folder. */
const RunOwner = z.object({
  pid: z.int(),
  startedAt: z.string(),
  /** Pids count in one pid namespace only. */
  pidNamespace: z.string(),
  /** Names the state folder itself: another folder may lie at the same path elsewhere. */
  state: z.string(),
  /** Where the cgroups of the run are: below those of the process itself. */
  cgroups: z.array(z.string()).default([]),
});
export type RunOwner = z.infer<typeof RunOwner>;

/** A folder of a run whose process was killed. */
export interface LeftOver {
  folder: string;
  owner: RunOwner;
}

/** This process as an owner. `state` names its state folder. */
export async function thisProcess(state: string): Promise<RunOwner> {
  const startedAt = (await factsOf(process.pid))?.startedAt ?? "";
  const pidNamespace = await readlink("/proc/self/ns/pid").catch(() => "");
  return { pid: process.pid, startedAt, pidNamespace, state, cgroups: [] };
}

/** Notes the owner in a folder. Other users may pass through the folder, and open only their own files in it. */
export async function claimFolder(folder: string, owner: RunOwner): Promise<void> {
  await writeFile(join(folder, NOTE), JSON.stringify(owner), { mode: 0o600 });
  await chmod(folder, 0o711);
}

/** The folders in `parent` whose names begin with `prefix` and whose processes were killed. */
export async function leftOversIn(
  parent: string,
  prefix: string,
  mine: RunOwner,
): Promise<LeftOver[]> {
  const found: LeftOver[] = [];
  for (const name of await readdir(parent).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(parent, name);
    const owner = await readOwner(folder);
    if (owner && (await isLeftOver(owner, mine))) found.push({ folder, owner });
  }
  return found;
}

/** Removes a folder, also while processes of a killed run are dying and still write. */
export async function removeFolder(folder: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await rm(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === REMOVE_TRIES) throw error;
      await pause(REMOVE_PAUSE_MS);
    }
  }
}

// A run that cannot be judged from here, in another container, is left alone.
async function isLeftOver(owner: RunOwner, mine: RunOwner): Promise<boolean> {
  if (owner.pidNamespace !== mine.pidNamespace) return owner.state === mine.state;
  return (await factsOf(owner.pid))?.startedAt !== owner.startedAt;
}

/** The owner that a folder of this user names; null for a folder of anybody or anything else. */
async function readOwner(folder: string): Promise<RunOwner | null> {
  try {
    const { uid } = await stat(folder);
    if (uid !== process.getuid?.()) return null;
    return RunOwner.parse(JSON.parse(await readFile(join(folder, NOTE), "utf8")));
  } catch {
    return null;
  }
}
