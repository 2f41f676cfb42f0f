import { mkdir, readFile, readdir, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { killQuietly } from "./processes.ts";

const ROOT = "/sys/fs/cgroup";
/** Exists where the machine has version 2. */
const UNIFIED = join(ROOT, "cgroup.controllers");
const MIB = 1024 * 1024;
const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

// Joins the cgroups while still root. The command itself may change its user afterwards.
const JOIN = `while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 97; shift; done
shift; exec "$@"`;

/** The caps of all processes of one group together. */
export interface Caps {
  memoryBytes: number;
  /** Threads count too. */
  tasks: number;
}

/** Memory and task caps of a host's programs, in cgroups of one run of the host. Version 2, else version 1. */
export class Cgroups {
  /** The run's folder in each hierarchy; these folders, and the groups in them, are removed at the end. */
  readonly folders: string[];
  readonly #version: 1 | 2;

  private constructor(folders: string[], version: 1 | 2) {
    this.folders = folders;
    this.#version = version;
  }

  /** Makes the run's cgroups. Null where this process may not, or the computer has none. */
  static async make(run: string): Promise<Cgroups | null> {
    const isV2 = await exists(UNIFIED);
    const cgroups = new Cgroups(await groupsOf(run), isV2 ? 2 : 1);
    try {
      for (const folder of cgroups.folders) await mkdir(folder);
      if (isV2) await writeFile(join(ROOT, run, "cgroup.subtree_control"), "+memory +pids");
      await removeGroups(await cgroups.add("probe", { memoryBytes: MIB, tasks: 1 }));
      return cgroups;
    } catch {
      await clearGroups(cgroups.folders);
      return null;
    }
  }

  /** Makes a capped group and returns its folder in each hierarchy. */
  async add(name: string, { memoryBytes, tasks }: Caps): Promise<string[]> {
    const folders = this.folders.map((folder) => join(folder, name));
    for (const folder of folders) await mkdir(folder);
    const [first = "", last = first] = folders;
    const memory = this.#version === 2 ? "memory.max" : "memory.limit_in_bytes";
    await writeFile(join(first, memory), String(memoryBytes));
    await writeFile(join(last, "pids.max"), String(tasks));
    return folders;
  }
}

/** A command that joins cgroups, which needs root, and then becomes `command`. */
export function inCgroups(folders: string[], command: string[]): string[] {
  if (folders.length === 0) return command;
  return ["/bin/sh", "-c", JOIN, "sh", ...folders, "--", ...command];
}

/** Where the cgroups of a run are, whether they exist or not. */
export async function groupsOf(run: string): Promise<string[]> {
  const parents = (await exists(UNIFIED))
    ? [ROOT]
    : await Promise.all(["memory", "pids"].map(ownV1));
  return parents.map((parent) => join(parent, run));
}

/** Removes a run's cgroups with the groups in them, and ends the processes that are still in them. */
export async function clearGroups(folders: string[]): Promise<void> {
  for (const folder of folders) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const groups = entries.filter((entry) => entry.isDirectory());
    for (const group of groups) await endProcesses(join(folder, group.name));
    await removeGroups([...groups.map((group) => join(folder, group.name)), folder]);
  }
}

async function endProcesses(folder: string): Promise<void> {
  const pids = await readFile(join(folder, "cgroup.procs"), "utf8").catch(() => "");
  for (const pid of pids.split("\n").filter(Boolean)) killQuietly(Number(pid));
}

/** Removes cgroups once their processes are reaped; gives up quietly, the janitor comes again. */
export async function removeGroups(folders: string[]): Promise<void> {
  for (const folder of folders) {
    for (let tries = 0; tries < REMOVE_TRIES && (await exists(folder)); tries += 1) {
      if (
        await rmdir(folder).then(
          () => true,
          () => false,
        )
      )
        break;
      await pause(REMOVE_PAUSE_MS);
    }
  }
}

// Below the cgroup of this process, so that caps of the host apply to its programs too. In a container the path can be
// that of the computer outside; then the mount itself is the own cgroup.
async function ownV1(controller: string): Promise<string> {
  const lines = (await readFile("/proc/self/cgroup", "utf8").catch(() => "")).split("\n");
  const mine = lines.map((line) => line.split(":")).find((parts) => parts[1] === controller);
  const own = join(ROOT, controller, mine?.[2] ?? "");
  return (await exists(own)) ? own : join(ROOT, controller);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
