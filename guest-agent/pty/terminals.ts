import type { TerminalInfo } from "@svc/contract/control-channel/pty-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { constants, openSync } from "node:fs";
import { ReadStream } from "node:tty";
import { type Command, type Commands, type Running, newId } from "../commands/commands.ts";
import type { Launcher, TerminalSize } from "../launcher/launcher.ts";

const TERMINALS_MAX = 64;
const SHELL: Command = { cmd: "bash", args: ["-l"] };

interface Open extends Running {
  info: Omit<TerminalInfo, "exitCode">;
  exitCode: number | null;
  fd: number;
  socket: ReadStream;
}

/** Pseudo-terminals, each with a program in it. They outlive the connection that opened them. */
export class Terminals {
  readonly #open = new Map<string, Open>();
  readonly #commands: Commands;
  readonly #launcher: Launcher;

  constructor(commands: Commands, launcher: Launcher) {
    this.#commands = commands;
    this.#launcher = launcher;
  }

  async open(size: TerminalSize, asked: Partial<Command>): Promise<Open> {
    this.#makeRoom();
    const id = newId("pty");
    const command: Command = { ...SHELL, ...asked };
    if (asked.cmd !== undefined && asked.args === undefined) delete command.args;
    const env = { TERM: "xterm-256color", ...command.env };
    const fd = openSync("/dev/ptmx", constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
    const socket = new ReadStream(fd);
    const terminal = { fd, socket, ...size };
    const running = await this.#commands.run({ ...command, env }, terminal);
    const { cmd, args = [] } = command;
    const startedAt = new Date().toISOString();
    const info = { id, pid: running.pid, ...size, cmd, args, startedAt };
    const open: Open = { ...running, info, exitCode: null, fd, socket };
    this.#open.set(id, open);
    void running.ended.then(({ exitCode }) => {
      open.exitCode = exitCode;
      socket.destroy();
    });
    return open;
  }

  get(id: string): Open {
    const open = this.#open.get(id);
    if (!open) throw refuse("NotFound", `There is no terminal ${id}.`);
    return open;
  }

  list(): TerminalInfo[] {
    return [...this.#open.values()].map(({ info, exitCode }) => ({
      ...info,
      ...(exitCode !== null && { exitCode }),
    }));
  }

  async resize(id: string, size: TerminalSize): Promise<void> {
    const open = this.get(id);
    if (open.exitCode !== null) throw refuse("NotRunning", `The program in ${id} has ended.`);
    await this.#launcher.resize({ fd: open.fd, ...size });
    Object.assign(open.info, size);
  }

  /** Ends the program with everything it has started, and forgets the terminal. */
  async close(id: string): Promise<void> {
    const open = this.get(id);
    this.#open.delete(id);
    open.process?.signal("SIGKILL");
    await open.ended;
  }

  #makeRoom(): void {
    for (const [id, { exitCode }] of this.#open) {
      if (this.#open.size < TERMINALS_MAX) return;
      if (exitCode !== null) this.#open.delete(id);
    }
    if (this.#open.size >= TERMINALS_MAX)
      throw refuse("Busy", `${TERMINALS_MAX} terminals are open already.`);
  }
}
