import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { clearGroups, groupsOf } from "@svc/host-kit/cgroups.ts";
import * as z from "zod";

/** How the folder of a run begins, in the folder for temporary files; its cgroups have its whole name. */
export const RUN_PREFIX = "svc-pool-";
const REMOVE_TRIES = 200;
const REMOVE_PAUSE_MS = 50;

/** Whose a run's folder is; it lies in the folder. */
const Owner = z.object({
  pid: z.int(),
  startedAt: z.string(),
  /** Pids count in one pid namespace only. */
  pidNamespace: z.string(),
  /** The state folder by its device and inode: what lies at the same path elsewhere is another one. */
  state: z.string(),
  /** Where its cgroups are: below those that its own process was in. */
  cgroups: z.array(z.string()).default([]),
});
type Owner = z.infer<typeof Owner>;

/** What one run of the pool leaves on the machine until it is closed. */
export interface Run {
  name: string;
  /** Not in the state folder: the path of a unix socket may have 107 bytes only. */
  folder: string;
  close(): Promise<void>;
}

/** Removes what runs that were killed have left, and opens one. */
export async function openRun(stateDir: string): Promise<Run> {
  const state = stateOf(stateDir);
  await mkdir(state, { recursive: true });
  const self = await ownerOf(state);
  await sweep(self);
  const folder = await mkdtemp(join(tmpdir(), RUN_PREFIX));
  const owner: Owner = { ...self, cgroups: await groupsOf(basename(folder)) };
  await writeFile(noteOf(folder), JSON.stringify(owner), { mode: 0o600 });
  // Users of slots pass through; only their own folder opens to them.
  await chmod(folder, 0o711);
  return { name: basename(folder), folder, close: () => removeRun(folder, owner) };
}

/** The pool's own part of a state folder. */
export const stateOf = (stateDir: string): string => join(stateDir, "pool");
const noteOf = (folder: string): string => join(folder, "owner.json");

async function ownerOf(state: string): Promise<Owner> {
  const { dev, ino } = await stat(state);
  const startedAt = await startOf(process.pid);
  const pidNamespace = await readlink("/proc/self/ns/pid").catch(() => "");
  return { pid: process.pid, startedAt, pidNamespace, state: `${dev}:${ino}`, cgroups: [] };
}

async function sweep(mine: Owner): Promise<void> {
  const names = await readdir(tmpdir());
  for (const name of names.filter((one) => one.startsWith(RUN_PREFIX))) {
    const folder = join(tmpdir(), name);
    const owner = await readOwner(folder);
    if (owner && (await isLeftOver(owner, mine))) await removeRun(folder, owner);
  }
}

// A run that cannot be judged from here, in another container, is left alone.
async function isLeftOver(owner: Owner, mine: Owner): Promise<boolean> {
  if (owner.pidNamespace !== mine.pidNamespace) return owner.state === mine.state;
  return (await startOf(owner.pid)) !== owner.startedAt;
}

async function removeRun(folder: string, { cgroups }: Owner): Promise<void> {
  const name = basename(folder);
  const noted = cgroups.filter((group) => basename(group) === name);
  await clearGroups([...new Set([...noted, ...(await groupsOf(name))])]);
  // Processes of a killed run may be dying still, and write.
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

/** The owner that a folder of this user names; null for a folder of anybody or anything else. */
async function readOwner(folder: string): Promise<Owner | null> {
  try {
    const { uid } = await stat(folder);
    if (uid !== process.getuid?.()) return null;
    return Owner.parse(JSON.parse(await readFile(noteOf(folder), "utf8")));
  } catch {
    return null;
  }
}

/** When a process began, in the kernel's ticks: a pid alone may be another process by now. */
async function startOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
