import { setTimeout as pause } from "node:timers/promises";

/** Boots of machines that somebody waits for. What can wait goes after them. */
export class Boots {
  readonly #under = new Set<Promise<unknown>>();

  /** One that is under way until this is settled. */
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
