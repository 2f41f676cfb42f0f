import { LIMITS } from "@svc/contract/limits.ts";
import type { HostAnswer } from "../host-calls/vms.ts";

const longestTimerMs = 2 ** 31 - 1;

interface CallLimits {
  idleMs: number;
  budgetMs: number | undefined;
  gone?: AbortSignal;
}

/** Calls to a machine that may take long, and keep it in use meanwhile. */
export class MachineCalls {
  readonly #running = new Set<AbortController>();

  /**
   * Runs one. `use` is told now and then and at the end that the machine is in use; a call that knows its
   * budget and is far beyond it is cut, as is one whose caller has `gone`.
   */
  async run<T>(
    { idleMs, budgetMs, gone }: CallLimits,
    use: () => void,
    work: (signal: AbortSignal) => Promise<HostAnswer<T>>,
  ): Promise<HostAnswer<T>> {
    const call = new AbortController();
    this.#running.add(call);
    const cut = () => call.abort();
    gone?.addEventListener("abort", cut);
    if (gone?.aborted) cut();
    const pulse = setInterval(use, Math.min(idleMs / 2, LIMITS.heartbeatMs));
    const mostMs = Math.min((budgetMs ?? Infinity) + LIMITS.backgroundReleaseMs, longestTimerMs);
    const overdue = setTimeout(cut, mostMs);
    try {
      return await work(call.signal);
    } finally {
      clearInterval(pulse);
      clearTimeout(overdue);
      gone?.removeEventListener("abort", cut);
      this.#running.delete(call);
      use();
    }
  }

  /** Cuts all that run: the machine is known to be out of reach. */
  cut(): void {
    for (const call of this.#running) call.abort();
  }
}

/** Work that goes one after the other. */
export class Lane {
  #last: Promise<unknown> = Promise.resolve();
  #busy = 0;

  get isBusy(): boolean {
    return this.#busy > 0;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    this.#busy += 1;
    const done = this.#last.then(work).finally(() => (this.#busy -= 1));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when what is in it now is over. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
