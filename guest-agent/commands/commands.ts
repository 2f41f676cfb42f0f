import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Exit, ProcessInfo } from "@svc/contract/control-channel/methods.ts";
import { HOLD_MS } from "@svc/contract/control-channel/protocol.ts";
import { randomText } from "@svc/contract/ids.ts";
import { resolve } from "node:path";
import { StartError } from "../launcher/launcher.ts";
import { commandEnv } from "./environment.ts";
import { OutputLog } from "./output-log.ts";
import { Process, type ProcessHost, type What } from "./process.ts";
import { type Unstartable, explain, impossible } from "./resolve.ts";
import { type Defaults, commandAs, userOf } from "./user.ts";

/** Processes kept by name at once, running or not. */
const HANDLES_MAX = 128;

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
  /** Ends the hold of a command that was started with one: somebody has attached. */
  letGo: () => void;
}

/** Starts commands and keeps those that have a name. */
export class Commands {
  readonly handles = new Map<string, Handle>();
  readonly #host: ProcessHost;
  readonly #home: string;
  readonly #session: () => Readonly<Record<string, string>>;
  readonly #defaults: () => Defaults;
  readonly #running = new Set<Process>();

  constructor(
    host: ProcessHost,
    home: string,
    session: () => Readonly<Record<string, string>>,
    defaults: () => Defaults = () => ({}),
  ) {
    this.#host = host;
    this.#defaults = defaults;
    this.#home = home;
    this.#session = session;
  }

  /** What a command without a user of its own sees; null where commands run as somebody else than the agent. */
  surroundings(own: Readonly<Record<string, string>> = {}) {
    const { user, cwd = this.#home } = this.#defaults();
    return user === undefined ? { cwd, env: commandEnv(this.#home, this.#session(), own) } : null;
  }

  /** The folder of commands that name none. */
  get home(): string {
    return this.#home;
  }

  /** Starts a command. A command that cannot start does not reject: it ends with 126 or 127. */
  async run(command: Command, stdin: What["stdin"], wire = false): Promise<Running> {
    const fault = impossible(command);
    if (fault) return unstarted(fault);
    const cwd = this.#folderOf(command);
    const { user: name } = this.#defaults();
    const user = name === undefined ? null : await userOf(name);
    if (name !== undefined && !user) return unstarted(noUser(name));
    const own = user
      ? { USER: user.name, LOGNAME: user.name, ...this.#session() }
      : this.#session();
    const env = commandEnv(user?.home ?? this.#home, own, command.env);
    const { cmd: asked, args: rest = [] } = command;
    const [cmd, args] = user ? commandAs(user, asked, rest) : [asked, rest];
    try {
      // The child looks the program up: what is found costs nothing here.
      const what = { file: cmd, argv: [cmd, ...args], env, cwd, stdin, wire };
      const process = await Process.start(this.#host, what);
      this.#running.add(process);
      void process.ended.finally(() => this.#running.delete(process));
      return { pid: process.pid, log: process.log, ended: process.ended, process };
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      return unstarted(await explain(error, cmd, cwd, env["PATH"] ?? ""));
    }
  }

  /** Starts a command that can be attached to by its id. */
  async start(command: Command, tag: string | undefined, isHeld = false): Promise<Handle> {
    this.#makeRoom();
    const id = newId("proc");
    const running = await this.run(command, "pipe");
    const { cmd, args = [] } = command;
    const info = {
      id,
      pid: running.pid,
      ...(tag !== undefined && { tag }),
      cmd,
      args,
      cwd: this.#folderOf(command),
      startedAt: new Date().toISOString(),
    };
    const letGo = isHeld ? hold(running.log) : () => {};
    const handle: Handle = { ...running, info, exit: null, letGo };
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
  close(): void {
    for (const process of this.#running) process.signal("SIGKILL");
  }

  #folderOf({ cwd = "" }: Command): string {
    return resolve(this.#defaults().cwd ?? this.#home, cwd);
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

const noUser = (name: string): Unstartable => ({
  exitCode: 126,
  message: `there is no user ${name}, whom this machine runs commands as`,
});

/** Follows a log in place of a client that is about to attach, for HOLD_MS at most. */
function hold(log: OutputLog): () => void {
  const follower = log.follow(0);
  const letGo = (): void => {
    clearTimeout(timer);
    log.leave(follower);
  };
  const timer = setTimeout(letGo, HOLD_MS);
  return letGo;
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
