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
   * Runs a call. `use` is called now and then and at the end: the machine is in use. A call far beyond its budget is cut,
   * and so is a call whose caller has `gone`.
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

  /** Cuts all calls: the machine is known to be out of reach. */
  cut(): void {
    for (const call of this.#running) call.abort();
  }
}
