import { statSync, writeFileSync } from "node:fs";
import type { Commands } from "../commands/commands.ts";
import { Kernel } from "./kernel.ts";
import type { Cell } from "./run.ts";

/** Variables that Python and the loader read at a start: a kernel that runs already has missed them. */
const READ_AT_START = /^(PYTHON|LD_|MPL|OPENBLAS_|OMP_|MKL_)/;
/** The kernel gives up a process that nobody uses first. */
const FIRST_TO_GO = "1000";

/** A kernel that was adopted, and what its first cell is to be told. */
export interface Adopted {
  kernel: Kernel;
  /** Of the new owner: folder and variables, and that it is another machine than the one the kernel began in. */
  first: Omit<Cell, "code">;
}

/** One Python kernel with the usual libraries loaded, which waits for the first context that can use it. */
export class Spare {
  readonly #commands: Commands;
  #kernel: Kernel | null = null;
  /** When each folder that it loads from had changed last. */
  #folders = new Map<string, number>();

  constructor(commands: Commands) {
    this.#commands = commands;
  }

  /** Starts one, and another one where what the first has loaded was replaced meanwhile. */
  async warm(): Promise<void> {
    if (this.#kernel && !this.#isOld()) return;
    this.#kernel?.end("what it has loaded was replaced");
    this.#kernel = null;
    const kernel = await Kernel.start(this.#commands, "python", {});
    const path = await kernel.warm();
    this.#folders = new Map(path.map((folder) => [folder, changedAt(folder)]));
    setScore(kernel.pid, FIRST_TO_GO);
    this.#kernel = kernel;
    void kernel.died.then(() => {
      if (this.#kernel === kernel) this.#kernel = null;
    });
  }

  /** The kernel for a context of these wishes; null when there is none that does for it. */
  take({ cwd, env = {} }: Omit<Cell, "code">): Adopted | null {
    const kernel = this.#kernel;
    const around = this.#commands.surroundings(env);
    if (!kernel || (around && Object.keys(env).some((name) => READ_AT_START.test(name))))
      return null;
    this.#kernel = null;
    const isOld = this.#isOld();
    const hasMissed = around && Object.keys(around.env).some((name) => READ_AT_START.test(name));
    if (!around || isOld || hasMissed) {
      kernel.end("nobody can use it");
      return null;
    }
    setScore(kernel.pid, "0");
    return { kernel, first: { cwd: cwd ?? around.cwd, env: around.env, isFresh: true } };
  }

  /** What was installed meanwhile is not what it has loaded. */
  #isOld(): boolean {
    return [...this.#folders].some(([folder, at]) => changedAt(folder) !== at);
  }
}

function changedAt(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function setScore(pid: number, score: string): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, score);
  } catch {
    // It has just ended.
  }
}
