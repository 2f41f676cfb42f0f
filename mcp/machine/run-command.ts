import type { Exited, Process } from "@svc/sdk/channel/process.ts";
import { linked, within } from "@svc/sdk/http/deadline.ts";
import { EXIT_CODES } from "@svc/contract/control-channel/protocol.ts";
import type { Machine } from "./connection.ts";

/** How long a kill may take until it is no longer waited for. */
const KILL_MS = 5_000;

/** A program with its arguments, and where it runs. */
export interface Program {
  argv: readonly [string, ...string[]];
  cwd?: string | undefined;
}

/** A command that is waited for. */
export interface Command extends Program {
  timeoutMs: number;
  /** Aborted: the command is killed. */
  signal: AbortSignal;
  onBytes: (channel: 1 | 2, bytes: Uint8Array) => void;
}

/** Kills a process with all that it has started, and waits for that: the caller closes the channel next. */
export async function kill(process: Process | Promise<Process>): Promise<void> {
  const killed = async (): Promise<void> => (await process).kill("SIGKILL");
  await within({ timeoutMs: KILL_MS }, killed).catch(() => {});
}

/** Starts a program. A program whose caller has gone when it begins is killed. */
export async function startProgram(
  machine: Machine,
  { argv, cwd }: Program,
  signal: AbortSignal,
): Promise<Process> {
  const [name, ...args] = argv;
  signal.throwIfAborted();
  // Without the signal: a request that is given up may have started the program.
  const starting = machine.commands.start(name, args, { cwd, hold: true });
  try {
    return await within({ signal }, () => starting);
  } catch (error) {
    await kill(starting);
    throw error;
  }
}

/**
 * Runs a command to its end without keeping its output. At its time, and when its caller aborts, it is killed with all that
 * it has started.
 */
export async function runCommand(machine: Machine, command: Command): Promise<Exited> {
  const { timeoutMs, signal, onBytes } = command;
  const process = await startProgram(machine, command, signal);
  const attachment = process.attach({ onBytes });
  // No input comes. A command may end before it is told so.
  attachment.endInput().catch(() => {});
  const ended = process.exited(attachment);
  const late = linked(signal);
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    return await within({ signal: late.signal }, () => ended);
  } catch (error) {
    await kill(process);
    if (signal.aborted || !late.signal.aborted) throw error;
    // The output so far is on its way.
    await within({ timeoutMs: KILL_MS }, () => ended).catch(() => {});
    return { exitCode: EXIT_CODES.timedOut, timedOut: true };
  } finally {
    clearTimeout(timer);
    late.abort();
  }
}
