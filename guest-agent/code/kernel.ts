import {
  CodeError,
  CodeResult,
  type Language,
  RESULT_BYTES,
} from "@svc/contract/control-channel/code-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { Exit } from "@svc/contract/control-channel/methods.ts";
import * as z from "zod";
import type { Commands } from "../commands/commands.ts";
import { OutputLog } from "../commands/output-log.ts";
import type { Process } from "../commands/process.ts";
import { Turns } from "../files/turns.ts";
import { MessageReader } from "./message-reader.ts";
import { type KernelProgram, framed, kernelProgram } from "./programs.ts";
import type { Cell, Done, Run } from "./run.ts";

/** A kernel that says nothing for so long at its start is ended: libraries are read and compiled, under emulation too. */
const START_MS = 120_000;
/** What an interrupted cell may take to end. Less than a request waits beyond its time. */
const INTERRUPT_MS = 3_000;
const INTERRUPT_AGAIN_MS = 1_000;
/** A process that has closed its channel is about to end, and tells more by that. */
const CLOSED_MS = 2_000;
/** One kernel at a time may send a message above this, and has so long for it: memory is theirs to ask for, and the agent's to give. */
const LARGE_BYTES = 256 * 1024;
const LARGE_MS = 30_000;
/** Of what a kernel has printed that did not start. */
const REASON_CHARACTERS = 1_000;

const Said = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ready") }),
  z.object({ kind: z.literal("warmed"), path: z.array(z.string().max(4096)).max(100) }),
  z.object({ kind: z.literal("result"), run: z.string(), result: CodeResult }),
  z.object({
    kind: z.literal("done"),
    run: z.string(),
    executionCount: z.int(),
    error: CodeError.exactOptional(),
    exitCode: z.int().exactOptional(),
  }),
]);

const largeTurns = new Turns(1);

/** The process of a context: it runs one cell at a time and keeps their state. */
export class Kernel {
  /** Resolves with the reason, in words, when the process is gone. */
  readonly died: Promise<string>;
  readonly #process: Process;
  readonly #encode: KernelProgram["encode"];
  readonly #reader = new MessageReader(RESULT_BYTES);
  readonly #ready = Promise.withResolvers<void>();
  readonly #warmed = Promise.withResolvers<string[]>();
  readonly #over = new AbortController();
  #running: { run: Run; done: PromiseWithResolvers<Done> } | null = null;
  #cause: string | null = null;
  #why: string | null = null;
  #large: NodeJS.Timeout | null = null;

  private constructor(process: Process, encode: KernelProgram["encode"]) {
    this.#process = process;
    this.#encode = encode;
    this.died = process.ended.then((exit) => this.#gone(exit));
    // Each of them is waited for by one caller at most.
    for (const { promise } of [this.#ready, this.#warmed]) promise.catch(() => {});
    process.wire?.on("data", (chunk: Buffer) => this.#take(chunk));
    process.wire?.on("error", () => {});
    process.wire?.once("close", () => this.#closed());
  }

  /** Starts a kernel and waits until it can run something. Rejects with `KernelDied`. */
  static async start(commands: Commands, language: Language, place: Omit<Cell, "code">) {
    const program = kernelProgram(language);
    const { cmd, args, env } = program;
    const where = { ...(place.cwd !== undefined && { cwd: place.cwd }) };
    const command = { cmd, args, ...where, env: { ...env, ...place.env } };
    const { process, log } = await commands.run(command, "pipe", true);
    if (!process) throw refuse("KernelDied", `The kernel could not be started: ${tailOf(log)}`);
    const kernel = new Kernel(process, program.encode);
    const timer = setTimeout(() => kernel.end(`it did not start within ${START_MS} ms`), START_MS);
    try {
      if (program.first.length > 0) void process.write(program.first);
      await kernel.#ready.promise;
      // What it said before is nobody's output.
      process.pour(new OutputLog());
      return kernel;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw refuse("KernelDied", `The kernel did not start: ${why}. ${tailOf(log)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Runs a cell to its end. What the process has printed since the last one comes first. Rejects with `KernelDied`. */
  async run(run: Run, cell: Cell): Promise<Done> {
    if (this.#why !== null) throw died(this.#why);
    const done = Promise.withResolvers<Done>();
    this.#running = { run, done };
    this.#process.drain();
    copy(this.#process.log, run.log);
    this.#process.pour(run.log);
    const order = { kind: "run" as const, run: run.id, ...cell };
    void this.#process.write(this.#encode(order));
    try {
      return await done.promise;
    } finally {
      this.#running = null;
      if (this.#why === null) this.#process.pour(new OutputLog());
    }
  }

  /** Loads what cells usually need, and returns the folders that it was loaded from. */
  async warm(): Promise<string[]> {
    void this.#process.write(framed(JSON.stringify({ kind: "warm" })));
    return this.#warmed.promise;
  }

  /** Interrupts the cell that runs. One that does not come back is ended with the kernel. */
  interrupt(): void {
    const { run } = this.#running ?? {};
    if (!run) return;
    this.#process.signal("SIGINT");
    // The cell may be on its way to the kernel, which hears of no interrupt before it has begun.
    const again = setInterval(() => this.#process.signal("SIGINT"), INTERRUPT_AGAIN_MS);
    const late = `the code did not end within ${INTERRUPT_MS} ms of its interrupt`;
    const timer = setTimeout(() => this.end(late), INTERRUPT_MS);
    const stop = (): void => {
      clearInterval(again);
      clearTimeout(timer);
    };
    run.done.then(stop, stop);
  }

  /** Ends the process and everything it has started. */
  end(cause: string): void {
    this.#cause ??= cause;
    this.#process.signal("SIGKILL");
  }

  #take(chunk: Buffer): void {
    try {
      for (const message of this.#reader.push(chunk)) this.#hear(message);
    } catch (error) {
      this.end(`its channel was broken: ${error instanceof Error ? error.message : String(error)}`);
    }
    const isLarge = this.#reader.bytes > LARGE_BYTES;
    if (isLarge && this.#large === null) void this.#takeTurn();
    else if (!isLarge && this.#large !== null) this.#giveTurn();
  }

  async #takeTurn(): Promise<void> {
    const { wire } = this.#process;
    wire?.pause();
    try {
      await largeTurns.take(this.#over.signal);
    } catch {
      return;
    }
    const late = () => this.end("it did not end a message that it had begun");
    this.#large = setTimeout(late, LARGE_MS);
    wire?.resume();
  }

  #giveTurn(): void {
    if (this.#large === null) return;
    clearTimeout(this.#large);
    this.#large = null;
    largeTurns.give();
  }

  #hear(message: Buffer): void {
    const said = Said.parse(JSON.parse(message.toString()));
    if (said.kind === "ready") return this.#ready.resolve();
    if (said.kind === "warmed") return this.#warmed.resolve(said.path);
    if (!this.#running || said.run !== this.#running.run.id) return;
    const { run, done } = this.#running;
    if (said.kind === "done") return done.resolve(said);
    // What was printed before it comes before it.
    this.#process.drain();
    run.show(said.result, message.length);
  }

  #closed(): void {
    const timer = setTimeout(() => this.end("the code closed its channel"), CLOSED_MS);
    void this.died.finally(() => clearTimeout(timer));
  }

  #gone(exit: Exit): string {
    this.#over.abort();
    this.#giveTurn();
    this.#process.wire?.destroy();
    const why = this.#cause ?? causeOf(exit);
    this.#why = why;
    this.#ready.reject(new Error(why));
    this.#warmed.reject(died(why));
    this.#running?.done.reject(died(why));
    return why;
  }
}

function causeOf({ exitCode, signal, oom }: Exit): string {
  if (oom)
    return "it was killed for memory: the machine has no more. Use less, or a machine with more";
  return signal ? `it was ended by ${signal}` : `it exited with code ${exitCode}`;
}

/** The refusal of what a kernel that is gone was to do. */
export function died(why: string): RpcError {
  const lost = "Its variables are lost; the next run begins anew.";
  return refuse("KernelDied", `The kernel is gone: ${why}. ${lost}`);
}

function tailOf(log: OutputLog): string {
  const copied = new OutputLog();
  const parts = copy(log, copied);
  return Buffer.concat(parts).toString().trim().slice(-REASON_CHARACTERS);
}

/** Adds what one log holds to another. */
function copy(from: OutputLog, to: OutputLog): Buffer[] {
  const parts: Buffer[] = [];
  const follower = from.follow(0);
  for (let block = from.next(follower); block; block = from.next(follower)) {
    to.append(block.channel, block.bytes);
    parts.push(block.bytes);
    from.advance(follower, block.offset + block.bytes.length);
  }
  from.leave(follower);
  return parts;
}
