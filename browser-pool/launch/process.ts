import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { Readable, Writable } from "node:stream";
import { ChannelGuard } from "./channel.ts";
import { stopReading } from "./reading.ts";

const KILL_MS = 2_000;
const STDERR_BYTES = 4_096;
/** Much more than bwrap has to tell. */
const STATUS_BYTES = 4_096;
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
  readonly #guard: ChannelGuard | null;
  #hasMisbehaved = false;
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
    // The guard comes first: nothing of the channel is read before this returns.
    this.#guard = hasChannel ? new ChannelGuard(this.#child, () => this.#misbehaved()) : null;
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

  /** Hands a socket over to the program. This process holds the socket too, and reads nothing of it any more. */
  give(message: object, socket: Socket): void {
    stopReading(socket);
    this.#guard?.gave();
    // A program that has ended has no use for it; its holder learns of the end by itself.
    this.#child.send(message, socket, { keepOpen: true }, () => {});
  }

  /** Whether the program was ended because it wrote into its channel what no such program writes. */
  get hasMisbehaved(): boolean {
    return this.#hasMisbehaved;
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

  #misbehaved(): void {
    this.#hasMisbehaved = true;
    void this.kill();
  }

  #isOver(): boolean {
    const { pid, exitCode, signalCode } = this.#child;
    return pid === undefined || exitCode !== null || signalCode !== null;
  }

  #killGroup(): void {
    if (this.pid !== null && !this.#isOver()) signal(-this.pid);
  }

  #hearStatus(text: string): void {
    if (this.#status.length < STATUS_BYTES) this.#status += text;
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
