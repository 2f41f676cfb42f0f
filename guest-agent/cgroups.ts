import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const MIB = 1024 * 1024;
/** Memory of an idle process, the kernel's part included, and some more: all tasks that are allowed find memory. */
const TASK_BYTES = 256 * 1024;
const AGENT = "svc-agent";
const WORK = "svc-work";
const CONTROLLERS = ["memory", "pids", "cpu"];

/** How much of a machine is kept from commands, so that the agent answers whatever they do. */
export interface Reserve {
  memTotalBytes: number;
  /** Tasks that this machine has memory for. */
  tasksMax: number;
  /** Memory that commands leave to the agent and the kernel. */
  keptBytes: number;
  /** What the agent has of a processor beside its commands, which have 100 together. */
  agentWeight: number;
}

/**
 * Cgroups (version 2): the agent in one that is protected, every command in one of its own that is capped. Their
 * files are the kernel's memory: a synchronous call costs less than handing it to another thread.
 */
export class Cgroups {
  readonly #agent: string;
  readonly #work: string;
  readonly #commandTasks: number;
  /** Folders whose last process may still be there. */
  readonly #leftovers = new Set<string>();
  /** One that is ready: to make it takes longer than to start what goes in. */
  #spare: string | null = null;
  #made = 0;

  private constructor(root: string, { tasksMax }: Reserve) {
    this.#agent = join(root, AGENT);
    this.#work = join(root, WORK);
    this.#commandTasks = Math.floor(tasksMax / 2);
  }

  /** Makes the groups under `root` and moves the agent into its own. Null where there is no cgroup 2. */
  static make(root: string, reserve: Reserve): Cgroups | null {
    if (!existsSync(join(root, "cgroup.procs"))) return null;
    const groups = new Cgroups(root, reserve);
    mkdirSync(groups.#agent, { recursive: true });
    writeFileSync(join(groups.#agent, "cgroup.procs"), String(process.pid));
    enable(root);
    mkdirSync(groups.#work, { recursive: true });
    enable(groups.#work);
    groups.#endOrphans();
    groups.#limit(reserve);
    return groups;
  }

  /** A new group for a command. */
  add(): string {
    const folder = this.#spare ?? this.#make();
    this.#spare = null;
    return folder;
  }

  /** Ends every process of a command, also those that have left its process group. */
  kill(folder: string): void {
    set(folder, "cgroup.kill", 1);
  }

  /** Whether the kernel has killed a process of this command for memory. */
  sawOom(folder: string): boolean {
    return /^oom_kill [1-9]/m.test(read(folder, "memory.events"));
  }

  /** Gives a group up: it goes when its last process has gone. */
  release(folder: string): void {
    this.#leftovers.add(folder);
    // Whoever waits for the command is answered first.
    setImmediate(() => this.#tidy());
  }

  #tidy(): void {
    for (const folder of this.#leftovers) this.#remove(folder);
    try {
      this.#spare ??= this.#make();
    } catch {
      // Whoever needs one is told why.
    }
  }

  #make(): string {
    const folder = join(this.#work, `${process.pid}-${(this.#made += 1)}`);
    mkdirSync(folder);
    set(folder, "pids.max", this.#commandTasks);
    return folder;
  }

  #remove(folder: string): void {
    try {
      rmdirSync(folder);
    } catch {
      if (existsSync(folder)) return;
    }
    this.#leftovers.delete(folder);
  }

  // Commands of an agent that was killed: nobody can reach them any more.
  #endOrphans(): void {
    set(this.#work, "cgroup.kill", 1);
    for (const entry of readdirSync(this.#work, { withFileTypes: true }))
      if (entry.isDirectory()) this.release(join(this.#work, entry.name));
  }

  #limit({ memTotalBytes, tasksMax, keptBytes, agentWeight }: Reserve): void {
    set(this.#work, "memory.max", memTotalBytes - keptBytes);
    set(this.#work, "pids.max", Math.floor(tasksMax * 0.75));
    set(this.#agent, "memory.min", Math.floor(keptBytes / 2));
    set(this.#agent, "cpu.weight", agentWeight);
  }
}

/** What this machine has. */
export function readReserve(): Reserve {
  const memTotal = /^MemTotal: +(\d+)/m.exec(read("/proc", "meminfo"))?.[1];
  const memTotalBytes = Number(memTotal) * 1024;
  const kernelsMax = Math.min(Number(read("/proc/sys/kernel", "threads-max")), 32_768);
  const tasksMax = Math.min(kernelsMax, Math.floor(memTotalBytes / TASK_BYTES));
  const keptBytes = Math.min(192 * MIB, Math.max(96 * MIB, Math.floor(memTotalBytes / 4)));
  return { memTotalBytes, tasksMax, keptBytes, agentWeight: 10_000 };
}

/**
 * What a share of a machine has: its kernel is not in it. The kernel parts the weight of a share among processors by the
 * weights of what runs there: a heavy agent would take that of the commands with it to its own.
 */
export function shareReserve({ memMb, tasks }: { memMb: number; tasks: number }): Reserve {
  return { memTotalBytes: memMb * MIB, tasksMax: tasks, keptBytes: 64 * MIB, agentWeight: 100 };
}

function enable(folder: string): void {
  const all = read(folder, "cgroup.controllers").split(/\s+/);
  for (const name of CONTROLLERS)
    if (all.includes(name)) set(folder, "cgroup.subtree_control", `+${name}`);
}

// A controller that this kernel has not is a file that is not there: the other limits still hold.
function set(folder: string, file: string, value: number | string): void {
  try {
    writeFileSync(join(folder, file), String(value));
  } catch {
    // So it is.
  }
}

function read(folder: string, file: string): string {
  try {
    return readFileSync(join(folder, file), "utf8");
  } catch {
    return "";
  }
}
