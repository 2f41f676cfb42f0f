import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Usage } from "../driver.ts";

const STDERR_BYTES = 4_096;
/** Kernel ticks in the stat file, the same on every Linux of ours. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

/** A QEMU process. */
export class QemuProcess {
  readonly pid: number;
  /** Resolves with its last words when it has ended. */
  readonly exited: Promise<string>;
  readonly #child: ChildProcess;
  readonly #gone = new AbortController();
  #stderr = "";

  /** `stateFd` becomes descriptor 3 of the new process. */
  constructor(command: string[], stateFd?: number) {
    const [file = "", ...args] = command;
    const stdio: StdioOptions = ["ignore", "ignore", "pipe"];
    if (stateFd !== undefined) stdio.push(stateFd);
    // Nothing of this process's environment: it holds the host token.
    const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
    this.#child = spawn(file, args, { stdio, env });
    this.pid = this.#child.pid ?? 0;
    this.#child.stderr?.on("data", (text) => {
      this.#stderr = (this.#stderr + String(text)).slice(-STDERR_BYTES);
    });
    this.exited = new Promise((resolve) => {
      const over = (): void => {
        this.#gone.abort(new Error(`QEMU ended: ${this.#stderr.trim()}`));
        resolve(this.#stderr.trim());
      };
      this.#child.once("error", over);
      this.#child.once("close", over);
    });
  }

  /** Aborts when the process has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  async kill(): Promise<void> {
    if (!this.gone.aborted) this.#child.kill("SIGKILL");
    await this.exited;
  }

  /** Null when it has ended. */
  async usage(): Promise<Usage | null> {
    if (this.gone.aborted) return null;
    const text = await readFile(`/proc/${this.pid}/stat`, "utf8").catch(() => "");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [user, system, pages] = [fields[11], fields[12], fields[21]].map(Number);
    if (user === undefined || system === undefined || pages === undefined) return null;
    return { cpuMs: (user + system) * TICK_MS, residentBytes: pages * PAGE_BYTES };
  }
}
