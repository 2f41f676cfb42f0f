import { mkdir, readFile, readdir, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

const MIB = 1024 * 1024;
const AGENT = "svc-agent";
const WORK = "svc-work";
const CONTROLLERS = ["memory", "pids", "cpu"];

/** How much of a machine is kept from commands, so that the agent answers whatever they do. */
export interface Reserve {
  memTotalBytes: number;
  /** Tasks that the kernel of this machine allows at all. */
  tasksMax: number;
}

/** Cgroups (version 2): the agent in one that is protected, every command in one of its own that is capped. */
export class Cgroups {
  readonly #agent: string;
  readonly #work: string;
  readonly #commandTasks: number;
  /** Folders whose last process may still be there. */
  readonly #leftovers = new Set<string>();

  private constructor(root: string, { tasksMax }: Reserve) {
    this.#agent = join(root, AGENT);
    this.#work = join(root, WORK);
    this.#commandTasks = Math.floor(tasksMax / 2);
  }

  /** Makes the groups under `root` and moves the agent into its own. Null where there is no cgroup 2. */
  static async make(root: string, reserve: Reserve): Promise<Cgroups | null> {
    if (!(await exists(join(root, "cgroup.procs")))) return null;
    const groups = new Cgroups(root, reserve);
    await mkdir(groups.#agent, { recursive: true });
    // Children of an agent that was killed: one still holds a port.
    await set(groups.#agent, "cgroup.kill", 1);
    await writeFile(join(groups.#agent, "cgroup.procs"), String(process.pid));
    await enable(root);
    await mkdir(groups.#work, { recursive: true });
    await enable(groups.#work);
    await groups.#endOrphans();
    await groups.#limit(reserve);
    return groups;
  }

  /** A new group for a command. */
  async add(name: string): Promise<string> {
    for (const folder of this.#leftovers) await this.#remove(folder);
    const folder = join(this.#work, name);
    await mkdir(folder);
    await set(folder, "pids.max", this.#commandTasks);
    return folder;
  }

  /** Ends every process of a command, also those that have left its process group. */
  async kill(folder: string): Promise<void> {
    await set(folder, "cgroup.kill", 1);
  }

  /** Whether the kernel has killed a process of this command for memory. */
  async sawOom(folder: string): Promise<boolean> {
    const events = await readFile(join(folder, "memory.events"), "utf8").catch(() => "");
    return /^oom_kill [1-9]/m.test(events);
  }

  /** Gives a group up: it goes when its last process has gone. */
  async release(folder: string): Promise<void> {
    this.#leftovers.add(folder);
    await this.#remove(folder);
  }

  async #remove(folder: string): Promise<void> {
    const isGone = await rmdir(folder).then(
      () => true,
      async () => !(await exists(folder)),
    );
    if (isGone) this.#leftovers.delete(folder);
  }

  // Commands of an agent that was killed: nobody can reach them any more.
  async #endOrphans(): Promise<void> {
    await set(this.#work, "cgroup.kill", 1);
    for (const entry of await readdir(this.#work, { withFileTypes: true }))
      if (entry.isDirectory()) await this.release(join(this.#work, entry.name));
  }

  async #limit({ memTotalBytes, tasksMax }: Reserve): Promise<void> {
    const kept = Math.min(192 * MIB, Math.max(96 * MIB, Math.floor(memTotalBytes / 4)));
    await set(this.#work, "memory.max", memTotalBytes - kept);
    await set(this.#work, "pids.max", Math.floor(tasksMax * 0.75));
    await set(this.#agent, "memory.min", Math.floor(kept / 2));
    await set(this.#agent, "cpu.weight", 10_000);
  }
}

/** What this machine has. */
export async function readReserve(): Promise<Reserve> {
  const meminfo = await readFile("/proc/meminfo", "utf8");
  const tasks = await readFile("/proc/sys/kernel/threads-max", "utf8");
  return {
    memTotalBytes: Number(/^MemTotal: +(\d+)/m.exec(meminfo)?.[1]) * 1024,
    tasksMax: Math.min(Number(tasks), 32_768),
  };
}

async function enable(folder: string): Promise<void> {
  const all = await readFile(join(folder, "cgroup.controllers"), "utf8");
  for (const name of CONTROLLERS)
    if (all.split(/\s+/).includes(name)) await set(folder, "cgroup.subtree_control", `+${name}`);
}

// A controller that this kernel has not is a file that is not there: the other limits still hold.
async function set(folder: string, file: string, value: number | string): Promise<void> {
  await writeFile(join(folder, file), String(value)).catch(() => {});
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
