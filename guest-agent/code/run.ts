import type { CodeError, CodeResult } from "@svc/contract/control-channel/code-methods.ts";
import { type OutputChannel, OutputLog } from "../commands/output-log.ts";

/** What a context is asked to run. */
export interface Cell {
  code: string;
  cwd?: string;
  env?: Record<string, string>;
  /** The kernel was started in another machine, which this one is a copy of: what must differ is to be made anew. */
  isFresh?: true;
}

/** How a run ended by its kernel's word. */
export interface Done {
  executionCount: number;
  error?: CodeError;
  exitCode?: number;
}

/** A result, and the output that came before it. */
interface Shown {
  result: CodeResult;
  at: number;
}

/** Gives results their place in the agent's memory. */
export interface ResultRoom {
  /** False: there is none. */
  take(run: Run, bytes: number): boolean;
}

/** Code that waits, runs or has run. It goes on whether or not somebody is attached. */
export class Run {
  readonly id: string;
  readonly context: string;
  readonly cell: Cell;
  readonly log = new OutputLog();
  readonly results: Shown[] = [];
  readonly done: Promise<Done>;
  startedAt: string | null = null;
  /** Why its kernel is a new one. */
  restarted: string | null = null;
  isTimedOut = false;
  /** Results were more than are kept. */
  isTruncated = false;
  resultBytes = 0;
  readonly #room: ResultRoom;
  readonly #done = Promise.withResolvers<Done>();

  constructor(id: string, context: string, cell: Cell, room: ResultRoom) {
    this.#room = room;
    this.id = id;
    this.context = context;
    this.cell = cell;
    this.done = this.#done.promise;
    // It may fail while nobody is attached.
    this.done.catch(() => {});
  }

  /** Keeps a result of so many bytes. */
  show(result: CodeResult, bytes: number): void {
    if (!this.#room.take(this, bytes)) this.isTruncated = true;
    else {
      this.resultBytes += bytes;
      this.results.push({ result, at: this.log.end });
    }
    this.log.wake();
  }

  get isOver(): boolean {
    return this.log.isClosed;
  }

  end(done: Done): void {
    this.log.close();
    this.#done.resolve(done);
  }

  fail(error: Error): void {
    this.log.close();
    this.#done.reject(error);
  }
}

export interface Follow {
  from: number;
  results: number;
  signal: AbortSignal;
  /** Takes output in order. False: it is over for the taker. */
  take: (channel: OutputChannel, bytes: Buffer) => boolean | Promise<boolean>;
  onResult: (result: CodeResult) => void | Promise<void>;
  onGap: (from: number, to: number) => void;
}

/** Hands on what a run prints and shows, in the order in which it came, to the run's end. The run waits for a slow taker. */
export async function followRun(run: Run, options: Follow): Promise<void> {
  const { log, results } = run;
  const { signal, take, onResult, onGap } = options;
  const follower = log.follow(options.from);
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  try {
    for (let next = options.results; !signal.aborted;) {
      const shown = results[next];
      const block = log.next(follower);
      if (shown && (!block || shown.at <= block.offset)) {
        await onResult(shown.result);
        next += 1;
      } else if (block) {
        if (block.offset > follower.offset) onGap(follower.offset, block.offset);
        const bytes = shown ? block.bytes.subarray(0, shown.at - block.offset) : block.bytes;
        const taken = take(block.channel, bytes);
        if (!(taken === true || (await taken))) return;
        log.advance(follower, block.offset + bytes.length);
      } else if (log.isClosed) return;
      else await Promise.race([log.changed(), aborted]);
    }
  } finally {
    log.leave(follower);
  }
}
