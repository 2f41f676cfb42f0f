const TURN_MS = 0.5;

/**
 * Shares the event loop of the pool between sessions: the bytes of one session are worked on for half a millisecond at
 * most, then everybody else comes first.
 */
export class Turns {
  #endsAt = 0;
  #isRunning = false;
  readonly #waiting: (() => void)[] = [];

  /** Whether the session may go on in this turn of the event loop. */
  get hasTime(): boolean {
    if (!this.#isRunning) this.#begin();
    return performance.now() < this.#endsAt;
  }

  /** Calls `go` in a later turn. Those who wait go on in the order in which they came. */
  wait(go: () => void): void {
    this.#waiting.push(go);
    if (!this.#isRunning) this.#begin();
  }

  #begin(): void {
    this.#isRunning = true;
    this.#endsAt = performance.now() + TURN_MS;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#isRunning = false;
    while (this.#waiting.length > 0 && this.hasTime) this.#waiting.shift()?.();
  }
}
