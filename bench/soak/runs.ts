import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { groupsOf } from "@svc/host-kit/cgroups.ts";

const LOOK_MS = 100;
const isRun = (name: string): boolean => name.startsWith("svc-");

/** Every run of the pool in a soak, also those that were killed: what they may have left is looked for by name. */
export class PoolRuns {
  /** Names of cgroups, as the pool derives them from its folder. */
  readonly #names = new Set<string>();
  readonly #scratch: string;
  readonly #timer: NodeJS.Timeout;

  constructor(scratch: string) {
    this.#scratch = scratch;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  get seen(): number {
    return this.#names.size;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Folders of runs, and of slots in them. */
  folders(): { runs: number; slots: number } {
    this.#look();
    const runs = list(this.#scratch).filter(isRun);
    const slots = runs.flatMap((run) => list(join(this.#scratch, run)).filter(isNumber));
    return { runs: runs.length, slots: slots.length };
  }

  /** Cgroups of runs, and of slots in them. */
  async cgroups(): Promise<{ runs: number; slots: number }> {
    const groups = (await Promise.all([...this.#names].map((name) => groupsOf(name)))).flat();
    const there = groups.filter((group) => existsSync(group));
    const slots = there.flatMap((group) => list(group).filter(isNumber));
    return { runs: there.length, slots: slots.length };
  }

  /** Whether a process belongs to a run by its cgroup. */
  holds(pid: number): boolean {
    try {
      const groups = readFileSync(`/proc/${pid}/cgroup`, "utf8");
      return [...this.#names].some((name) => groups.includes(name));
    } catch {
      return false;
    }
  }

  #look(): void {
    for (const run of list(this.#scratch).filter(isRun)) this.#names.add(groupName(run));
  }
}

const isNumber = (name: string): boolean => /^\d+$/.test(name);

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The random end of a folder's name is what its cgroups are named after. */
const groupName = (run: string): string => `svc-pool-${run.split("-").at(-1)}`;
