import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import type { Data } from "../bytes.ts";
import { CommandError, ConnectionError } from "../errors.ts";
import { type CallOptions, linked } from "../http/deadline.ts";
import { newKey } from "../http/client.ts";
import type { Attachment } from "./attachment.ts";
import type { Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";
import { KeptOutput, keptTexts } from "./kept-output.ts";
import { left, Pipe } from "./pipe.ts";
import { type Exited, type Output, OutputReader, Process } from "./process.ts";

/** Where and how a command runs. */
export interface CommandOptions extends CallOptions {
  /** The working directory; the home of the machine's user unless said. */
  cwd?: string | undefined;
  /** Variables beside those of the machine. */
  env?: Readonly<Record<string, string>> | undefined;
  /** A name in `list()`, at most 200 characters. */
  tag?: string | undefined;
  /** No output is dropped before somebody listens: the process waits for it, 30 s at most. */
  hold?: boolean | undefined;
}

/** How a command that is waited for runs. `timeoutMs`: then it is killed and ends with 124; no limit unless said. */
export interface RunOptions extends CommandOptions {
  /** The command's input; empty unless said. */
  stdin?: Data | undefined;
  /** A non-zero exit code is thrown, as a `CommandError`. */
  check?: boolean | undefined;
  onStdout?: ((text: string) => void) | undefined;
  onStderr?: ((text: string) => void) | undefined;
}

/** How a command ended, with its output. A non-zero exit code is no error. */
export interface CommandResult extends Exited {
  stdout: string;
  stderr: string;
  /** Output beyond 8 MiB of a stream was dropped. */
  truncated?: true;
}

/** A process that the machine keeps. */
export type ProcessRecord = Result<"commands.list">["processes"][number];

/** Commands in a machine. They go on when their connection is lost, and so does every method here. */
export class Commands {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Runs a program with its arguments to its end. No shell reads them. An abort kills it. */
  async run(cmd: string, args: string[] = [], options: RunOptions = {}): Promise<CommandResult> {
    const { signal, timeoutMs, stdin, check = false, onStdout, onStderr } = options;
    const process = await this.start(cmd, args, withoutBudget(options));
    const kept = { 1: new KeptOutput(onStdout), 2: new KeptOutput(onStderr) };
    const exit = await watched(process, { signal, timeoutMs }, async (ends) => {
      const attachment = process.attach({
        signal: ends,
        onBytes: (channel, bytes) => kept[channel].push(bytes),
      });
      await feed(attachment, stdin);
      return process.exited(attachment);
    });
    const result = { ...exit, ...keptTexts(kept) };
    if (check && result.exitCode !== 0) throw new CommandError(cmd, result);
    return result;
  }

  /** Runs a line of bash to its end: pipes, `&&`, globs. */
  sh(line: string, options: RunOptions = {}): Promise<CommandResult> {
    return this.run("bash", ["-c", line], options);
  }

  /**
   * Runs a program and hands its output on as it comes. A reader that is slow slows the program down; one that leaves the
   * loop kills it. The last value is how it ended.
   */
  async *stream(
    cmd: string,
    args: string[] = [],
    options: Omit<RunOptions, "check" | "onStdout" | "onStderr"> = {},
  ): AsyncGenerator<Output, Exited> {
    const { signal, timeoutMs, stdin } = options;
    const process = await this.start(cmd, args, withoutBudget(options));
    const abort = linked(signal);
    const pipe = new Pipe<Output>();
    const reader = new OutputReader(pipe);
    const ended = watched(process, { signal: abort.signal, timeoutMs }, async (ends) => {
      const attachment = process.attach({
        signal: ends,
        onBytes: (channel, bytes) => reader.push(channel, bytes),
      });
      await feed(attachment, stdin);
      return process.exited(attachment);
    });
    pipe.endWith(ended);
    try {
      yield* pipe;
      return await ended;
    } finally {
      // A reader that has left: an abort kills the process.
      abort.abort(left());
    }
  }

  /** Starts a program and answers at once. It goes on without this program. */
  async start(cmd: string, args: string[] = [], options: CommandOptions = {}): Promise<Process> {
    const { cwd, env, tag = `sdk-${newKey()}`, hold, ...rest } = options;
    const params = { cmd, args, cwd, env, tag, hold };
    const { id, pid } = await this.#channel.use(rest, async (limits) => {
      for (;;) {
        const connection = await this.#channel.connection(limits);
        try {
          const rpc = { signal: limits.signal };
          return await this.#channel.begin(connection, "commands.start", params, rpc).result;
        } catch (error) {
          // The answer is lost, not its process: the tag tells whether it began. A tag of the caller's may be another's.
          if (!isRefused(error, "Disconnected") || options.tag !== undefined) throw error;
          const { processes } = await this.#channel.call("commands.list", {}, limits);
          const begun = processes.find((one) => one.tag === tag);
          if (begun) return begun;
        }
      }
    });
    return new Process(this.#channel, id, pid);
  }

  /** A process that was started before, by its id. */
  connect(id: string, pid = 0): Process {
    return new Process(this.#channel, id, pid);
  }

  /** Processes that the machine keeps: all that run, and the latest that have ended. */
  async list(options: CallOptions = {}): Promise<ProcessRecord[]> {
    return (await this.#channel.ask("commands.list", {}, options)).processes;
  }

  /** Sends a signal to a process; `SIGTERM` unless said. */
  async kill(
    id: string,
    signal: NonNullable<Params<"commands.kill">["signal"]> = "SIGTERM",
    options: CallOptions = {},
  ): Promise<void> {
    await this.#channel.ask("commands.kill", { id, signal }, options);
  }
}

const KILLED = { exitCode: 124, timedOut: true as const };

/** `timeoutMs` of a run is the command's, not that of the request that starts it. */
const withoutBudget = ({ signal, cwd, env, tag }: RunOptions): CommandOptions => ({
  signal,
  cwd,
  env,
  tag,
  hold: true,
});

/** Waits for a process; kills it when the caller aborts, and at its time. */
async function watched(
  process: Process,
  { signal, timeoutMs = Infinity }: CallOptions,
  work: (signal: AbortSignal) => Promise<Exited>,
): Promise<Exited> {
  const kill = (): Promise<void> => process.kill("SIGKILL").catch(() => {});
  let isLate = false;
  const late = (): void => {
    isLate = true;
    void kill();
  };
  const timer =
    timeoutMs < Infinity ? setTimeout(late, Math.min(timeoutMs, 0x7fff_ffff)) : undefined;
  try {
    const exit = await work(signal ?? new AbortController().signal);
    return isLate ? { ...exit, ...KILLED } : exit;
  } catch (error) {
    // The process has no listener any more.
    void kill();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Gives a command its whole input. A command that ends before it has read all of it is no error. */
async function feed(
  attachment: Attachment<"commands.attach">,
  stdin: Data | undefined,
): Promise<void> {
  const isOver = attachment.ended.then(
    () => true,
    () => true,
  );
  const given = (async () => {
    if (stdin !== undefined) await attachment.writeAll(stdin);
    await attachment.endInput();
    return false;
  })();
  await Promise.race([given, isOver]).catch((error: unknown) => {
    if (error instanceof ConnectionError) throw error;
  });
  given.catch(() => {});
}
