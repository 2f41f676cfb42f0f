import { mkdir, readFile, readdir, rmdir, stat, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { killQuietly } from "./processes.ts";

const ROOT = "/sys/fs/cgroup";
/** Exists where the machine has version 2. */
const UNIFIED = join(ROOT, "cgroup.controllers");
const MIB = 1024 * 1024;
/** The time within which a share of the processors is counted. */
const PERIOD_US = 100_000;
/** The files of the cap of processors, by version. */
const QUOTAS = { 1: "cpu.cfs_quota_us", 2: "cpu.max" };
/** The weight of one busy program. */
const WEIGHT_V1 = { file: "cpu.shares", one: 1024 };
const WEIGHT_V2 = { file: "cpu.weight", one: 100 };
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
  /** Processors that the group may keep busy. Absent: all, and the group has no share of its own. */
  cores?: number;
}

const CONTROLLERS = ["memory", "pids", "cpu"] as const;
/** A run's folder by controller; null where the computer does not have it. */
type Homes = Record<(typeof CONTROLLERS)[number], string | null>;

/** Caps of a host's programs, in cgroups of one run of the host. Version 2, else version 1. */
export class Cgroups {
  readonly #homes: Homes;
  readonly #version: 1 | 2;

  private constructor(homes: Homes, version: 1 | 2) {
    this.#homes = homes;
    this.#version = version;
  }

  /** Makes the run's cgroups. Null where this process may not, or the computer has none for memory and tasks. */
  static async make(run: string): Promise<Cgroups | null> {
    const version = (await exists(UNIFIED)) ? 2 : 1;
    const homes = await homesOf(run);
    try {
      for (const folder of foldersOf({ ...homes, cpu: null })) await mkdir(folder);
      homes.cpu = version === 2 ? await delegate(join(ROOT, run)) : await madeIfAllowed(homes.cpu);
      // Some kernels share the processors out and cap nobody.
      if (homes.cpu !== null && !(await exists(join(homes.cpu, QUOTAS[version])))) homes.cpu = null;
      const cgroups = new Cgroups(homes, version);
      await removeGroups(await cgroups.add("probe", { memoryBytes: MIB, tasks: 1, cores: 1 }));
      await cgroups.#weigh();
      return cgroups;
    } catch {
      await clearGroups(foldersOf(homes));
      return null;
    }
  }

  /** Makes a capped group and returns its folder in each hierarchy. */
  async add(name: string, { memoryBytes, tasks, cores }: Caps): Promise<string[]> {
    const { memory, pids, cpu } = this.#homes;
    const homes = foldersOf({ memory, pids, cpu: cores === undefined ? null : cpu });
    for (const home of homes) await mkdir(join(home, name));
    const isV2 = this.#version === 2;
    await write(memory, name, isV2 ? "memory.max" : "memory.limit_in_bytes", memoryBytes);
    await write(pids, name, "pids.max", tasks);
    if (cores !== undefined) await this.#cap(name, Math.round(cores * PERIOD_US));
    return homes.map((home) => join(home, name));
  }

  async #cap(name: string, quotaUs: number): Promise<void> {
    const value = this.#version === 2 ? `${quotaUs} ${PERIOD_US}` : quotaUs;
    await write(this.#homes.cpu, name, QUOTAS[this.#version], value).catch((error: unknown) => {
      // Version 1 takes no cap above that of a group around this one, which holds anyway.
      const isAboveOuter = error instanceof Error && "code" in error && error.code === "EINVAL";
      if (this.#version === 2 || !isAboveOuter) throw error;
    });
  }

  /** The groups together weigh as much as a busy program on every processor; among themselves they are equal. */
  async #weigh(): Promise<void> {
    const { cpu } = this.#homes;
    const { file, one } = this.#version === 2 ? WEIGHT_V2 : WEIGHT_V1;
    await write(cpu, "", file, one * availableParallelism());
  }
}

/** Whether the kernel has killed a process of a group, by its folders, because the group reached its memory cap. */
export async function isOutOfMemory(folders: string[]): Promise<boolean> {
  const files = folders.flatMap((folder) =>
    ["memory.events", "memory.oom_control"].map((name) => join(folder, name)),
  );
  const counts = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
  return counts.some((text) => /^oom_kill [1-9]/m.test(text));
}

/** A command that joins cgroups, which needs root, and then becomes `command`. */
export function inCgroups(folders: string[], command: string[]): string[] {
  if (folders.length === 0) return command;
  return ["/bin/sh", "-c", JOIN, "sh", ...folders, "--", ...command];
}

/** Where the cgroups of a run are, whether they exist or not. */
export async function groupsOf(run: string): Promise<string[]> {
  return foldersOf(await homesOf(run));
}

async function homesOf(run: string): Promise<Homes> {
  if (await exists(UNIFIED)) {
    const home = join(ROOT, run);
    return { memory: home, pids: home, cpu: home };
  }
  const hasCpu = await exists(join(ROOT, "cpu"));
  const [memory, pids, cpu] = await Promise.all(CONTROLLERS.map(ownV1));
  return {
    memory: join(memory ?? ROOT, run),
    pids: join(pids ?? ROOT, run),
    cpu: hasCpu && cpu !== undefined ? join(cpu, run) : null,
  };
}

/** Each folder once. */
function foldersOf(homes: Homes): string[] {
  const all = CONTROLLERS.map((controller) => homes[controller]);
  return [...new Set(all.filter((home) => home !== null))];
}

/** Hands the controllers of version 2 to the groups of a run; returns the home of `cpu`, null where it is not to be had. */
async function delegate(home: string): Promise<string | null> {
  const control = join(home, "cgroup.subtree_control");
  await writeFile(control, "+memory +pids");
  return writeFile(control, "+cpu").then(
    () => home,
    () => null,
  );
}

async function madeIfAllowed(home: string | null): Promise<string | null> {
  if (home === null) return null;
  return mkdir(home).then(
    () => home,
    () => null,
  );
}

async function write(
  home: string | null,
  name: string,
  file: string,
  value: number | string,
): Promise<void> {
  if (home !== null) await writeFile(join(home, name, file), String(value));
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
  const mine = lines
    .map((line) => line.split(":"))
    .find((parts) => parts[1]?.split(",").includes(controller));
  const own = join(ROOT, controller, mine?.[2] ?? "");
  return (await exists(own)) ? own : join(ROOT, controller);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
