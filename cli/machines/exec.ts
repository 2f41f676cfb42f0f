import type { AttachmentOptions } from "@svc/sdk/channel/attachment.ts";
import { KeptOutput, keptTexts } from "@svc/sdk/channel/kept-output.ts";
import type { Exited, Process } from "@svc/sdk/channel/process.ts";
import { ControlError } from "@svc/sdk/errors.ts";
import type { Sandbox } from "@svc/sdk/sandboxes.ts";
import type { Cli } from "../cli.ts";
import { Ended, judge } from "../errors.ts";
import { EXIT } from "../exit-codes.ts";
import { oneLine } from "../terminal/plain.ts";
import { readerGone, write } from "../terminal/pipes.ts";

/** How a command runs. */
export interface ExecOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** False: the command's input is empty. */
  stdin: boolean;
}

const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs a command inside, and ends as it does. */
export async function exec(
  cli: Cli,
  id: string,
  command: readonly string[],
  options: ExecOptions,
): Promise<never> {
  const svc = await cli.svc();
  try {
    const box = await svc.sandboxes.connect(id);
    throw new Ended(await (cli.isJson ? whole : streamed)(box, command, options));
  } catch (error) {
    if (error instanceof Ended) throw error;
    console.error(`svc: ${oneLine(judge(error).line)}`);
    throw new Ended(EXIT.execFailed);
  }
}

/** Prints the result as JSON, at the command's end. */
async function whole(
  box: Sandbox,
  command: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const kept = { 1: new KeptOutput(), 2: new KeptOutput() };
  const stdin = options.stdin && !process.stdin.isTTY;
  const exit = await ran(box, command, { ...options, stdin }, (channel, bytes) =>
    kept[channel].push(bytes),
  );
  console.log(JSON.stringify({ ...exit, ...keptTexts(kept) }, null, 2));
  return exit.exitCode;
}

async function streamed(
  box: Sandbox,
  command: readonly string[],
  options: ExecOptions,
): Promise<number> {
  const { exitCode, lostBytes } = await ran(box, command, options, (channel, bytes) =>
    write(streamOf(channel), bytes),
  );
  if (lostBytes) console.error(`svc: ${lostBytes} bytes of output were lost with a connection.`);
  return readerGone().aborted ? EXIT.brokenPipe : exitCode;
}

/** Runs a command with the input and the signals of this program. */
async function ran(
  box: Sandbox,
  [cmd = "", ...args]: readonly string[],
  { cwd, env, stdin }: ExecOptions,
  onBytes: NonNullable<AttachmentOptions["onBytes"]>,
): Promise<Exited> {
  const started = box.commands.start(cmd, args, { cwd, env, hold: true });
  const stop = passSignals(started);
  try {
    const command = await started;
    const kill = (): Promise<void> => command.kill("SIGKILL").catch(() => {});
    // A command whose output nobody reads is killed: a pipe inside the machine would end it, too.
    const gone = readerGone();
    if (gone.aborted) void kill();
    gone.addEventListener("abort", () => void kill());
    try {
      const attachment = command.attach({ onBytes });
      const isOver = command.exited(attachment);
      const fed = feed(attachment, stdin).then(() => isOver);
      return await Promise.race([isOver, fed]);
    } catch (error) {
      // A command that is left would wait for the rest of its input, or run with nobody who hears how it ends.
      await kill();
      throw error;
    }
  } finally {
    stop();
  }
}

const streamOf = (channel: 1 | 2): NodeJS.WriteStream =>
  channel === 1 ? process.stdout : process.stderr;

/** Input as it comes. A command that ends before it has read all of it is no error; input that may be lost is one. */
async function feed(attachment: ReturnType<Process["attach"]>, isWanted: boolean): Promise<void> {
  try {
    if (isWanted) for await (const part of process.stdin) await attachment.write(part as Buffer);
    await attachment.endInput();
  } catch (error) {
    // The machine refuses input of a command that has ended.
    if (!(error instanceof ControlError)) throw error;
  }
}

/**
 * Ctrl-C is the command's matter: what it does about it decides how this program ends. A signal that comes while the machine
 * starts the command waits for that. At the third Ctrl-C a command that nobody reaches is left.
 */
function passSignals(started: Promise<Process>): () => void {
  let interrupts = 0;
  const off = PASSED_ON.map((signal) => {
    const pass = (): void => {
      if (signal === "SIGINT" && (interrupts += 1) > 2) process.exit(EXIT.interrupted);
      void started.then((command) => command.kill(signal)).catch(() => {});
    };
    process.on(signal, pass);
    return () => process.off(signal, pass);
  });
  return () => off.forEach((stop) => stop());
}
