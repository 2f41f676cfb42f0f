import {
  type ContextInfo,
  type Language,
  QUEUED_RUNS_MAX,
} from "@svc/contract/control-channel/code-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { Commands } from "../commands/commands.ts";
import { Kernel, died } from "./kernel.ts";
import type { Spare } from "./spare.ts";
import type { Cell, Run } from "./run.ts";

/** One context: its kernel, the run that has it, and those that wait. */
export class Context {
  readonly name: string;
  readonly language: Language;
  readonly #commands: Commands;
  readonly #place: Omit<Cell, "code">;
  readonly #spare: Spare;
  /** What the first cell of the kernel is told beside its own. */
  #first: Omit<Cell, "code"> = {};
  readonly #queue: Run[] = [];
  #kernel: Promise<Kernel> | null = null;
  #pid: number | null = null;
  #running: Run | null = null;
  /** Why the kernel before this one is gone; told with the first run of the new one. */
  #lost: string | null = null;
  #executionCount = 0;
  #isRemoved = false;

  constructor(
    { commands, spare }: { commands: Commands; spare: Spare },
    name: string,
    language: Language,
    place: Omit<Cell, "code">,
  ) {
    this.#commands = commands;
    this.#spare = spare;
    this.name = name;
    this.language = language;
    this.#place = place;
  }

  get info(): ContextInfo {
    const { id: run, startedAt } = this.#running ?? {};
    return {
      context: this.name,
      language: this.language,
      ...(this.#pid !== null && { pid: this.#pid }),
      ...(run !== undefined && startedAt && { running: { run, startedAt } }),
      queued: this.#queue.length,
      executionCount: this.#executionCount,
    };
  }

  /** Puts a run at the end of the queue. */
  add(run: Run): void {
    if (this.#queue.length >= QUEUED_RUNS_MAX) {
      const error = refuse("Busy", `${QUEUED_RUNS_MAX} runs wait in the context ${this.name}.`);
      run.fail(error);
      throw error;
    }
    this.#queue.push(run);
    this.#next();
  }

  /** Gives up one run: out of the queue, or interrupted. */
  cancel(run: Run): void {
    const at = this.#queue.indexOf(run);
    if (at >= 0) {
      this.#queue.splice(at, 1);
      const code = run.isTimedOut ? RPC_CODES.timedOut : RPC_CODES.cancelled;
      run.fail(new RpcError(code, "The run was given up before it began."));
    } else if (this.#running === run) this.interrupt();
  }

  /** Interrupts what runs. */
  interrupt(): void {
    void this.#kernel?.then((kernel) => kernel.interrupt()).catch(() => {});
  }

  /** The kernel, started if there is none. */
  ready(): Promise<Kernel> {
    this.#kernel ??= this.#start();
    return this.#kernel;
  }

  /** Ends the kernel; what runs and what waits fails. */
  async restart(): Promise<void> {
    await this.#end("it was restarted");
    this.#lost = null;
    this.#executionCount = 0;
    await this.ready();
  }

  async remove(): Promise<void> {
    this.#isRemoved = true;
    await this.#end("its context was removed");
  }

  async #end(cause: string): Promise<void> {
    const kernel = await this.#kernel?.catch(() => null);
    kernel?.end(cause);
    await kernel?.died;
    this.#failQueue(cause);
  }

  async #start(): Promise<Kernel> {
    try {
      const adopted = this.language === "python" ? this.#spare.take(this.#place) : null;
      this.#first = adopted?.first ?? {};
      const kernel =
        adopted?.kernel ?? (await Kernel.start(this.#commands, this.language, this.#place));
      this.#pid = kernel.pid;
      void kernel.died.then((why) => this.#died(why));
      return kernel;
    } catch (error) {
      this.#kernel = null;
      throw error;
    }
  }

  #died(why: string): void {
    this.#kernel = null;
    this.#pid = null;
    this.#lost = why;
    this.#executionCount = 0;
    this.#failQueue(why);
  }

  /** Runs that were asked for what is gone must not run against an empty context. */
  #failQueue(why: string): void {
    for (const run of this.#queue.splice(0)) run.fail(died(why));
  }

  #next(): void {
    if (this.#running || this.#isRemoved) return;
    const run = this.#queue.shift();
    if (!run) return;
    this.#running = run;
    run.startedAt = new Date().toISOString();
    void this.#perform(run).finally(() => {
      this.#running = null;
      this.#next();
    });
  }

  async #perform(run: Run): Promise<void> {
    try {
      const kernel = await this.ready();
      run.restarted = this.#lost;
      this.#lost = null;
      const first = this.#first;
      this.#first = {};
      const done = await kernel.run(run, {
        ...first,
        ...run.cell,
        env: { ...first.env, ...run.cell.env },
      });
      this.#executionCount = done.executionCount;
      run.end(done);
    } catch (error) {
      run.fail(error as Error);
    }
  }
}
