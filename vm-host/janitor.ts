import { mkdir, mkdtemp, readFile, readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { clearGroups, groupsOf } from "@svc/host-kit/cgroups.ts";
import { factsOf, killQuietly } from "@svc/host-kit/processes.ts";
import { claimFolder, leftOversIn, removeFolder, thisProcess } from "@svc/host-kit/run-folders.ts";
import { removeRules } from "./network/rules.ts";
import { idOf } from "./disk/owner.ts";

const PREFIX = "svcvm-";
/** Used when the temporary folder is closed to the machines' users. */
const OPEN_PARENT = "/tmp";
const OTHERS_MAY_PASS = 0o001;
/** The longest path of the run's parent: the path of a unix socket in the run's folder must fit into 107 bytes. */
const LONGEST_PARENT = 50;

/** What one run of the host leaves on the computer until the run is closed. */
export interface Run {
  /** Names what cannot lie in the folder: the table of network rules, the cgroups. */
  name: string;
  /** For sockets. Not in the state folder: the path of a unix socket may have 107 bytes only. */
  folder: string;
  /** For disks: the temporary folder may be memory. */
  disks: string;
  /** A number that is the same for the same state folder. */
  seed: number;
  close(): Promise<void>;
}

/** Removes what killed runs have left, and opens a run. */
export async function openRun(stateDir: string, cacheDir: string): Promise<Run> {
  await mkdir(stateDir, { recursive: true });
  const { ino } = await stat(stateDir);
  const owner = await thisProcess(await idOf(stateDir));
  const parent = await openParent();
  const allDisks = join(cacheDir, "disks");
  await mkdir(allDisks, { recursive: true, mode: 0o711 });
  for (const place of new Set([parent, tmpdir(), OPEN_PARENT, allDisks]))
    for (const { folder } of await leftOversIn(place, PREFIX, owner)) await removeRun(folder);
  const folder = await mkdtemp(join(parent, PREFIX));
  const disks = join(allDisks, basename(folder));
  await mkdir(disks);
  for (const one of [folder, disks]) await claimFolder(one, owner);
  const close = async (): Promise<void> => {
    await removeRun(folder);
    await removeRun(disks);
  };
  return { name: nameOf(folder), folder, disks, seed: ino, close };
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

async function removeRun(folder: string): Promise<void> {
  await endMachines(folder);
  await clearGroups(await groupsOf(nameOf(folder)));
  await removeRules(nameOf(folder));
  await removeFolder(folder);
}

/** Ends the QEMUs of a run. They die with their host; this is for a host that died while it started one. */
async function endMachines(folder: string): Promise<void> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  for (const pid of pids) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    // Only programs of the run have the folder's path in their arguments.
    if (!/qemu-system/.test(line) || !line.includes(`${folder}/`)) continue;
    const before = await factsOf(pid);
    if (before && !before.isZombie) killQuietly(pid);
  }
}
