import { type ChildProcess, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const KILL_MS = 2_000;
const STDERR_BYTES = 4_096;

/** A browser in its namespaces, and the two ends of its debugging pipe. */
export class SandboxedProcess {
  readonly toBrowser: Writable;
  readonly fromBrowser: Readable;
  /** Resolves when the outermost process has ended. */
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  #status = "";
  #stderr = "";

  constructor(command: string[]) {
    const [file = "", ...args] = command;
    this.#child = spawn(file, args, {
      // 3 and 4 are the debugging pipe, 5 is where bwrap tells its state.
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", "pipe"],
      detached: true,
      // Nothing of this process's environment: it holds the host token.
      env: { PATH: "/usr/bin:/bin" },
    });
    this.exited = new Promise((resolve) => {
      this.#child.once("error", () => resolve());
      this.#child.once("exit", () => resolve());
    });
    // Node's types know five of them.
    const [, , stderr, input, output, status]: unknown[] = this.#child.stdio;
    if (!(input instanceof Writable) || !(output instanceof Readable))
      throw new Error("the browser has no debugging pipe");
    this.toBrowser = input;
    this.fromBrowser = output;
    if (stderr instanceof Readable) stderr.on("data", (text) => this.#hear(String(text)));
    if (status instanceof Readable) status.on("data", (text) => (this.#status += String(text)));
  }

  /** The last it said on stderr. */
  get lastWords(): string {
    return this.#stderr.trim();
  }

  /** The pid of the outermost process. */
  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  /** The pid of the first process of the namespace, seen from here; null until bwrap told it. */
  get firstPid(): number | null {
    const pid = /"child-pid": ?(\d+)/.exec(this.#status)?.[1];
    return pid ? Number(pid) : null;
  }

  /**
   * Ends everything in the namespace and resolves when it is gone: bwrap outlives its first process,
   * and that one's end is complete only when the kernel has reaped all others.
   */
  async kill(): Promise<void> {
    if (this.#isOver()) return;
    if (this.firstPid !== null) signal(this.firstPid);
    else this.#killGroup();
    const last = setTimeout(() => this.#killGroup(), KILL_MS);
    await this.exited;
    clearTimeout(last);
  }

  #isOver(): boolean {
    const { pid, exitCode, signalCode } = this.#child;
    return pid === undefined || exitCode !== null || signalCode !== null;
  }

  #killGroup(): void {
    if (this.pid !== null && !this.#isOver()) signal(-this.pid);
  }

  #hear(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-STDERR_BYTES);
  }
}

/** SIGKILL to a process, or to a group by its negative id. */
export function signal(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
