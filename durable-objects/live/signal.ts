import { atMost } from "./deadline.ts";

/** Wakes callers that wait for a change of an object. */
export class Signal {
  readonly #waiting = new Set<() => void>();

  /** Resolves with the next `send`, or after `ms`. */
  async next(ms: number): Promise<void> {
    let wake = (): void => undefined;
    const sent = new Promise<void>((resolve) => (wake = resolve));
    this.#waiting.add(wake);
    await atMost(ms, sent).catch(() => undefined);
    this.#waiting.delete(wake);
  }

  send(): void {
    for (const wake of this.#waiting) wake();
  }
}
