import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { Readable, Writable } from "node:stream";

const KILL_MS = 2_000;
const STDERR_BYTES = 4_096;
/** What shells and bwrap add to the number of the signal that ended their child. */
const SIGNALLED = 128;

/** A program in namespaces of its own, a browser or a Playwright, and two pipes: 3 into it, 4 out of it. */
export class SandboxedProcess {
  readonly toInside: Writable;
  readonly fromInside: Readable;
  /** Resolves when the outermost process has ended. */
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  #status = "";
  #stderr = "";

  /** `hasChannel`: whether it is a Node process that is given sockets. */
  constructor(command: string[], hasChannel = false) {
    const [file = "", ...args] = command;
    // To a browser 3 and 4 are its debugging pipe; 5 is where bwrap tells its state.
    const pipes = ["pipe", "pipe", "pipe", "pipe"] as const;
    this.#child = spawn(file, args, {
      stdio: ["ignore", "ignore", ...pipes, ...(hasChannel ? (["ipc"] as const) : [])],
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
      throw new Error("the process has no pipes");
    this.toInside = input;
    this.fromInside = output;
    if (stderr instanceof Readable) stderr.on("data", (text) => this.#hear(String(text)));
    if (status instanceof Readable) status.on("data", (text) => (this.#status += String(text)));
  }

  /** Hands a socket over by its channel; it is no longer this process's. */
  give(message: object, socket: Socket): void {
    stopReading(socket);
    // Should it end before it has it, so does the socket.
    this.#child.send(message, socket, () => {});
  }

  /** The last it said on stderr. */
  get lastWords(): string {
    return this.#stderr.trim();
  }

  /** The signal that ended it, or what ran inside; null while it runs and when it ended by itself. */
  get killedBy(): string | null {
    const { exitCode, signalCode } = this.#child;
    if (signalCode !== null) return signalCode;
    const number = (exitCode ?? 0) - SIGNALLED;
    return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null;
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
function signal(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

/** Until the other side has taken the socket both have it: this one must not read what is for the other. */
function stopReading(socket: Socket): void {
  const handle: unknown = Reflect.get(socket, "_handle");
  const stop: unknown =
    typeof handle === "object" && handle !== null ? Reflect.get(handle, "readStop") : null;
  if (typeof stop !== "function") throw new TypeError("a socket that cannot be handed over");
  stop.call(handle);
}
