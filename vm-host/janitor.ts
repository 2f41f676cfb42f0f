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
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { clearGroups, groupsOf } from "@svc/host-kit/cgroups.ts";
import * as z from "zod";
import { removeRules } from "./network/rules.ts";
import { idOf } from "./disk/owner.ts";

const PREFIX = "svcvm-";
const NOTE = "owner.json";
/** Where a folder can be when the temporary folder is closed to the machines' users. */
const OPEN_PARENT = "/tmp";
const OTHERS_MAY_PASS = 0o001;
/** What the path of a unix socket may have, less what follows the run's folder. */
const LONGEST_PARENT = 50;
const REMOVE_TRIES = 20;
const REMOVE_PAUSE_MS = 50;

/** Whose a run's folder is; it lies in the folder. */
const Owner = z.object({
  pid: z.int(),
  startedAt: z.string(),
  /** Pids count in one pid namespace only. */
  pidNamespace: z.string(),
  /** The state folder by its name for itself: what lies at the same path elsewhere is another one. */
  state: z.string(),
});
type Owner = z.infer<typeof Owner>;

/** What one run of the host leaves on the machine until it is closed. */
export interface Run {
  /** Names what cannot lie in the folder: the table of network rules. */
  name: string;
  /** For sockets. Not in the state folder: the path of a unix socket may have 107 bytes only. */
  folder: string;
  /** For disks: the temporary folder may be memory. */
  disks: string;
  /** A number that is the same for the same state folder. */
  seed: number;
  close(): Promise<void>;
}

/** Removes what runs that were killed have left, and opens one. */
export async function openRun(stateDir: string, cacheDir: string): Promise<Run> {
  await mkdir(stateDir, { recursive: true });
  const { ino } = await stat(stateDir);
  const owner = await ownerOf(await idOf(stateDir));
  const parent = await openParent();
  const allDisks = join(cacheDir, "disks");
  await mkdir(allDisks, { recursive: true, mode: 0o711 });
  for (const place of new Set([parent, tmpdir(), OPEN_PARENT, allDisks])) await sweep(place, owner);
  const folder = await mkdtemp(join(parent, PREFIX));
  const disks = join(allDisks, basename(folder));
  await mkdir(disks);
  for (const one of [folder, disks]) await claim(one, owner);
  const close = async (): Promise<void> => {
    await removeRun(folder);
    await removeRun(disks);
  };
  return { name: nameOf(folder), folder, disks, seed: ino, close };
}

async function claim(folder: string, owner: Owner): Promise<void> {
  await writeFile(join(folder, NOTE), JSON.stringify(owner), { mode: 0o600 });
  // Machines' users pass through; only their own files open to them.
  await chmod(folder, 0o711);
}

/** The temporary folder, unless machines' users cannot get there or its path is too long. */
async function openParent(): Promise<string> {
  const path = tmpdir();
  if (path.length > LONGEST_PARENT) return OPEN_PARENT;
  if (process.getuid?.() !== 0) return path;
  for (let at = path; at !== dirname(at); at = dirname(at))
    if (((await stat(at)).mode & OTHERS_MAY_PASS) === 0) return OPEN_PARENT;
  return path;
}

const nameOf = (folder: string): string => `svc_vm_${basename(folder).slice(PREFIX.length)}`;

async function ownerOf(state: string): Promise<Owner> {
  const startedAt = (await statOf(process.pid))?.startedAt ?? "";
  const pidNamespace = await readlink("/proc/self/ns/pid").catch(() => "");
  return { pid: process.pid, startedAt, pidNamespace, state };
}

async function sweep(place: string, mine: Owner): Promise<void> {
  const names = await readdir(place).catch(() => []);
  for (const name of names.filter((one) => one.startsWith(PREFIX))) {
    const folder = join(place, name);
    const owner = await readOwner(folder);
    if (owner && (await isLeftOver(owner, mine))) await removeRun(folder);
  }
}

// A run that cannot be judged from here, in another container, is left alone.
async function isLeftOver(owner: Owner, mine: Owner): Promise<boolean> {
  if (owner.pidNamespace !== mine.pidNamespace) return owner.state === mine.state;
  return (await statOf(owner.pid))?.startedAt !== owner.startedAt;
}

async function removeRun(folder: string): Promise<void> {
  await endMachines(folder);
  await clearGroups(await groupsOf(nameOf(folder)));
  await removeRules(nameOf(folder));
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

/** Ends the QEMUs of a run. They die with their host; this is for those whose host died in between. */
async function endMachines(folder: string): Promise<void> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  for (const pid of pids) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    // Only its own programs have the folder's path in their arguments.
    if (!/qemu-system/.test(line) || !line.includes(`${folder}/`)) continue;
    const before = await statOf(pid);
    if (before && !before.isZombie) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

/** The owner that a folder of this user names; null for a folder of anybody or anything else. */
async function readOwner(folder: string): Promise<Owner | null> {
  try {
    const { uid } = await stat(folder);
    if (uid !== process.getuid?.()) return null;
    return Owner.parse(JSON.parse(await readFile(join(folder, NOTE), "utf8")));
  } catch {
    return null;
  }
}

/** When a process began, in the kernel's ticks: a pid alone may be another process by now. */
async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { startedAt: fields[19] ?? "", isZombie: fields[0] === "Z" };
}
