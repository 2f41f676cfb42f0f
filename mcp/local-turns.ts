import { ApiError } from "@svc/sdk/errors.ts";
import type { Svc } from "@svc/sdk/svc.ts";
import { handoffActive, type Subject, type TurnLimits, type Turns } from "./turns.ts";

/** The order of calls on a session within one process. The session's hand-off and lease are asked for over REST. */
export class LocalTurns implements Turns {
  readonly #svc: Svc;
  /** Settled when the last call that came is over. */
  readonly #last = new Map<string, Promise<void>>();
  /** Sessions that another program created without a lease. */
  readonly #leaseless = new Set<string>();

  constructor(svc: Svc) {
    this.#svc = svc;
  }

  async take({ kind, id }: Subject, { signal }: TurnLimits): Promise<() => void> {
    const before = this.#last.get(id);
    let end = (): void => {};
    const over = new Promise<void>((resolve) => (end = resolve));
    this.#queue(id, before ? before.then(() => over) : over);
    signal.addEventListener("abort", end, { once: true });
    try {
      await before;
      signal.throwIfAborted();
      if (kind === "browser") await this.#useBrowser(id, signal);
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  #queue(id: string, last: Promise<void>): void {
    this.#last.set(id, last);
    void last.then(() => this.#last.get(id) === last && this.#last.delete(id));
  }

  async #useBrowser(id: string, signal: AbortSignal): Promise<void> {
    const browser = await this.#svc.browsers.connect(id, { signal });
    const { handoff } = browser;
    if (handoff?.status === "pending" || handoff?.status === "active") throw handoffActive();
    if (this.#leaseless.has(id)) return;
    try {
      await browser.renewLease(undefined, { signal });
    } catch (error) {
      // 400: there is no lease. The call itself meets any other fault.
      if (error instanceof ApiError && error.status === 400) this.#leaseless.add(id);
    }
  }
}
