import { LIMITS } from "@svc/contract/limits.ts";
import type { HostAnswer } from "../host-calls/vms.ts";

const longestTimerMs = 2 ** 31 - 1;

interface CallLimits {
  budgetMs: number | undefined;
  gone?: AbortSignal;
}

/** Calls to a machine that may take long. Its host counts them as use. */
export class MachineCalls {
  readonly #running = new Set<AbortController>();

  /** Runs a call. A call far beyond its budget is cut, and so is a call whose caller has `gone`. */
  async run<T>(
    { budgetMs, gone }: CallLimits,
    work: (signal: AbortSignal) => Promise<HostAnswer<T>>,
  ): Promise<HostAnswer<T>> {
    const call = new AbortController();
    this.#running.add(call);
    const cut = () => call.abort();
    gone?.addEventListener("abort", cut);
    if (gone?.aborted) cut();
    const mostMs = Math.min((budgetMs ?? Infinity) + LIMITS.backgroundReleaseMs, longestTimerMs);
    const overdue = setTimeout(cut, mostMs);
    try {
      return await work(call.signal);
    } finally {
      clearTimeout(overdue);
      gone?.removeEventListener("abort", cut);
      this.#running.delete(call);
    }
  }

  /** Cuts all calls: the machine is known to be out of reach. */
  cut(): void {
    for (const call of this.#running) call.abort();
  }
}
