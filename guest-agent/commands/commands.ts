import { refuse } from "@svc/contract/control-channel/rpc-error.ts";
import type { Exit, ProcessInfo } from "@svc/contract/control-channel/methods.ts";
import { randomText } from "@svc/contract/ids.ts";
import { resolve } from "node:path";
import { StartError } from "../launcher/launcher.ts";
import { commandEnv } from "./environment.ts";
import { OutputLog } from "./output-log.ts";
import { Process, type ProcessHost, type What } from "./process.ts";
import { type Unstartable, resolveCommand } from "./resolve.ts";

/** Processes kept by name at once, running or not. */
const HANDLES_MAX = 128;
const ENOENT = 2;
/** Argument list too long, not a program: as shells say. */
const CANNOT_RUN = 126;

/** What a client asks to run. */
export interface Command {
  cmd: string;
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
}

/** A command that runs, or one that could not and has ended already. */
export interface Running {
  pid: number;
  log: OutputLog;
  ended: Promise<Exit>;
  process: Process | null;
}

export interface Handle extends Running {
  info: Omit<ProcessInfo, "exitCode">;
  exit: Exit | null;
}

/** Starts commands and keeps those that have a name. */
export class Commands {
  readonly handles = new Map<string, Handle>();
  readonly #host: ProcessHost;
  readonly #home: string;
  readonly #session: () => Readonly<Record<string, string>>;
  readonly #running = new Set<Process>();

  constructor(host: ProcessHost, home: string, session: () => Readonly<Record<string, string>>) {
    this.#host = host;
    this.#home = home;
    this.#session = session;
  }

  /** The folder of commands that name none. */
  get home(): string {
    return this.#home;
  }

  /** Starts a command. Never rejects for what the command is: that is how it ends. */
  async run(command: Command, stdin: What["stdin"], id = newId("proc")): Promise<Running> {
    const cwd = resolve(this.#home, command.cwd ?? "");
    const env = commandEnv(this.#home, this.#session(), command.env);
    const file = await resolveCommand(command.cmd, cwd, env["PATH"] ?? "");
    if (typeof file !== "string") return unstarted(file);
    const argv = [command.cmd, ...(command.args ?? [])];
    try {
      const process = await Process.start(this.#host, id, { file, argv, env, cwd, stdin });
      this.#running.add(process);
      void process.ended.finally(() => this.#running.delete(process));
      return { pid: process.pid, log: process.log, ended: process.ended, process };
    } catch (error) {
      return unstarted(unstartable(command.cmd, error));
    }
  }

  /** Starts a command that can be attached to by its id. */
  async start(command: Command, tag: string | undefined): Promise<Handle> {
    this.#makeRoom();
    const id = newId("proc");
    const running = await this.run(command, "pipe", id);
    const { cmd, args = [], cwd = "" } = command;
    const info = {
      id,
      pid: running.pid,
      ...(tag !== undefined && { tag }),
      cmd,
      args,
      cwd: resolve(this.#home, cwd),
      startedAt: new Date().toISOString(),
    };
    const handle: Handle = { ...running, info, exit: null };
    this.handles.set(id, handle);
    void running.ended.then((exit) => (handle.exit = exit));
    return handle;
  }

  handle(id: string): Handle {
    const handle = this.handles.get(id);
    if (!handle) throw refuse("NotFound", `There is no process ${id}.`);
    return handle;
  }

  /** Ends everything it has started. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((process) => process.signal("SIGKILL")));
  }

  #makeRoom(): void {
    for (const [id, { exit }] of this.handles) {
      if (this.handles.size < HANDLES_MAX) return;
      if (exit) this.handles.delete(id);
    }
    if (this.handles.size >= HANDLES_MAX)
      throw refuse("Busy", `${HANDLES_MAX} processes are running already.`);
  }
}

/** A name for a process or a terminal. */
export function newId(kind: "proc" | "pty"): string {
  return `${kind}_${randomText(12).toLowerCase()}`;
}

/** The end of a command that never began, told on its stderr. */
function unstarted({ exitCode, message }: Unstartable): Running {
  const log = new OutputLog();
  log.append(2, Buffer.from(`svc: ${message}\n`));
  log.close();
  return { pid: 0, log, ended: Promise.resolve({ exitCode }), process: null };
}

function unstartable(cmd: string, error: unknown): Unstartable {
  if (!(error instanceof StartError)) throw error;
  // The file is there: its interpreter is not.
  const why = error.errno === ENOENT ? "its interpreter is missing" : error.message;
  return { exitCode: CANNOT_RUN, message: `${cmd} could not be started: ${why}` };
}
