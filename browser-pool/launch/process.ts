import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { Readable, Writable } from "node:stream";

const KILL_MS = 2_000;
const STDERR_BYTES = 4_096;
/** What shells and bwrap add to the number of the signal that ended their child. */
const SIGNALLED = 128;

/** A program in namespaces of its own: a browser or a Playwright. Pipe 3 leads into the program, pipe 4 out of it. */
export class SandboxedProcess {
  readonly toInside: Writable;
  readonly fromInside: Readable;
  /** Resolves when the outermost process has ended. */
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #begun = Promise.withResolvers<number>();
  #status = "";
  #stderr = "";

  /** `hasChannel`: whether the program is a Node process that is given sockets. */
  constructor(command: string[], hasChannel = false) {
    const [file = "", ...args] = command;
    // To a browser 3 and 4 are its debugging pipe; 5 is where bwrap tells its state.
    const pipes = ["pipe", "pipe", "pipe", "pipe"] as const;
    this.#child = spawn(file, args, {
      stdio: ["ignore", "ignore", ...pipes, ...(hasChannel ? (["ipc"] as const) : [])],
      detached: true,
      // No variable of this process: its environment holds the host token.
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
    if (status instanceof Readable) status.on("data", (text) => this.#hearStatus(String(text)));
    this.#begun.promise.catch(() => {});
    void this.exited.then(() => this.#begun.reject(new Error(this.lastWords)));
  }

  /** Hands a socket over to the program; this process has the socket no more. */
  give(message: object, socket: Socket): void {
    stopReading(socket);
    // A program that ends before it has the socket ends the socket too.
    this.#child.send(message, socket, () => {});
  }

  /** The last bytes of its stderr. */
  get lastWords(): string {
    return this.#stderr.trim();
  }

  /** The signal that ended the program; null while it runs and when it ended by itself. */
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

  /** Resolves when the namespaces are made, with the pid of the outermost process. */
  get begun(): Promise<number> {
    return this.#begun.promise;
  }

  /** The pid of the first process of the namespace, seen from here; null until bwrap told it. */
  get firstPid(): number | null {
    const pid = /"child-pid": ?(\d+)/.exec(this.#status)?.[1];
    return pid ? Number(pid) : null;
  }

  /**
   * Ends every process of the namespace and resolves when all are gone: bwrap outlives the first process, whose
   * end is complete only when the kernel has reaped all others.
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

  #hearStatus(text: string): void {
    this.#status += text;
    if (this.firstPid !== null && this.pid !== null) this.#begun.resolve(this.pid);
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

/** Stops reading from a socket that is being handed over: until the other side has it, both do, and its bytes are for the other. */
function stopReading(socket: Socket): void {
  const handle: unknown = Reflect.get(socket, "_handle");
  const stop: unknown =
    typeof handle === "object" && handle !== null ? Reflect.get(handle, "readStop") : null;
  if (typeof stop !== "function") throw new TypeError("a socket that cannot be handed over");
  stop.call(handle);
}
