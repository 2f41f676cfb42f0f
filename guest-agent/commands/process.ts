import type { Exit } from "@svc/contract/control-channel/methods.ts";
import { EXIT_CODES } from "@svc/contract/control-channel/protocol.ts";
import type { Socket } from "node:net";
import { constants } from "node:os";
import type { Cgroups } from "../cgroups.ts";
import type { Ended, Launcher, Start, Started, Terminal } from "../launcher/launcher.ts";
import { OutputLog } from "./output-log.ts";
import { PipeReader, PipeWriter, openPipe } from "./pipe-reader.ts";

export interface ProcessHost {
  launcher: Launcher;
  cgroups: Cgroups | null;
}

/** A terminal with the stream over it. */
export interface OpenTerminal extends Terminal {
  socket: Socket;
}

/** What to start; the cgroup is the process's own affair. */
export type What = Omit<Start, "cgroup" | "stdin"> & { stdin: "pipe" | "none" | OpenTerminal };

/** A running command with its output. */
export class Process {
  readonly pid: number;
  #log = new OutputLog();
  /** What the process writes to its open file 3, where it has one. */
  readonly wire: Socket | null;
  /** Resolves when the command has ended and its output is in the log. */
  readonly ended: Promise<Exit>;
  readonly #host: ProcessHost;
  readonly #cgroup: string | null;
  readonly #stdin: PipeWriter | null;
  readonly #readers: PipeReader[];
  #isTimedOut = false;
  #isOver = false;

  private constructor(
    host: ProcessHost,
    started: Started,
    cgroup: string | null,
    terminal: OpenTerminal | null,
  ) {
    this.pid = started.pid;
    this.#host = host;
    this.#cgroup = cgroup;
    this.#readers = terminal
      ? [new PipeReader(terminal.fd, terminal.socket, 1, this.log)]
      : [
          PipeReader.open(started.stdout, 1, this.log),
          PipeReader.open(started.stderr, 2, this.log),
        ];
    if (terminal) this.#stdin = new PipeWriter(terminal.socket);
    else this.#stdin = started.stdin === null ? null : PipeWriter.open(started.stdin);
    this.wire = started.wire === null ? null : openPipe(started.wire);
    started.release();
    this.ended = this.#end(started.ended);
  }

  /** Starts a command in a cgroup of its own. Rejects with a `StartError`. */
  static async start(host: ProcessHost, what: What): Promise<Process> {
    const cgroup = host.cgroups?.add() ?? null;
    const terminal = typeof what.stdin === "object" ? what.stdin : null;
    try {
      const started = await host.launcher.launch({ ...what, cgroup });
      return new Process(host, started, cgroup, terminal);
    } catch (error) {
      if (cgroup !== null) host.cgroups?.release(cgroup);
      throw error;
    }
  }

  /** Where its output goes. */
  get log(): OutputLog {
    return this.#log;
  }

  /** What it has written so far is in its log; what it writes from now on goes to another one. */
  pour(log: OutputLog): void {
    this.drain();
    for (const reader of this.#readers) reader.pour(log);
    const before = this.#log;
    this.#log = log;
    before.close();
  }

  /** Takes what is in its pipes at this moment. */
  drain(): void {
    for (const reader of this.#readers) reader.drain();
  }

  /** To its process group; SIGKILL goes to everything it has started. */
  signal(name: NodeJS.Signals): void {
    if (this.#isOver) return;
    signalGroup(this.pid, name);
    if (name === "SIGKILL" && this.#cgroup !== null) this.#host.cgroups?.kill(this.#cgroup);
  }

  /** Ends the whole tree because its time is over. */
  timeOut(): void {
    this.#isTimedOut = true;
    this.signal("SIGKILL");
  }

  /** Resolves when the command has taken the bytes. Empty: the end of its input. */
  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) this.#stdin?.end();
    else await this.#stdin?.write(bytes);
  }

  async #end(ended: Promise<Ended>): Promise<Exit> {
    const how = await ended;
    await Promise.all(this.#readers.map((reader) => reader.finish()));
    this.#isOver = true;
    this.#stdin?.close();
    this.#log.close();
    const exit = exitOf(how, this.#isTimedOut, () => this.#sawOom());
    if (this.#cgroup !== null) this.#host.cgroups?.release(this.#cgroup);
    return exit;
  }

  #sawOom(): boolean {
    return this.#cgroup !== null && (this.#host.cgroups?.sawOom(this.#cgroup) ?? false);
  }
}

/** The codes of decisions: 124 past its time, 137 killed for memory, 128 + n by signal n. */
export function exitOf({ code, signal }: Ended, isTimedOut: boolean, sawOom: () => boolean): Exit {
  if (isTimedOut) return { exitCode: EXIT_CODES.timedOut, timedOut: true };
  const exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
  const byMemory = exitCode === EXIT_CODES.outOfMemory && sawOom();
  return { exitCode, ...(signal && { signal }), ...(byMemory && { oom: true as const }) };
}

/** False when nobody of the group is left. */
function signalGroup(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, name);
  } catch {
    return false;
  }
}
