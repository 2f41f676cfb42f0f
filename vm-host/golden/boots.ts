import { setTimeout as pause } from "node:timers/promises";

/** The boots that a caller waits for. Builds of golden machines wait for them. */
export class Boots {
  readonly #under = new Set<Promise<unknown>>();

  /** A boot is under way until this promise is settled. */
  add(over: Promise<unknown>): void {
    const one: Promise<unknown> = over.catch(() => null).then(() => this.#under.delete(one));
    this.#under.add(one);
  }

  /** Resolves once none is under way, or after this many ms. */
  async quiet(limitMs: number): Promise<void> {
    const ended = new AbortController();
    const late = pause(limitMs, undefined, { ref: false, signal: ended.signal }).catch(() => {});
    let isLate = false;
    void late.then(() => (isLate = true));
    while (this.#under.size > 0 && !isLate) await Promise.race([late, ...this.#under]);
    ended.abort();
  }
}
