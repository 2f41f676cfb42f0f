/** Lets a few do something at once; the others wait in line. */
export class Turns {
  #free: number;
  readonly #line: (() => void)[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  /** Resolves when it is the caller's turn; rejects with the signal's reason when the caller gives up before. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#line.splice(this.#line.indexOf(resolve), 1);
      reject(signal.reason);
    };
    this.#line.push(resolve);
    signal.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", leave));
  }

  /** Ends a turn. */
  give(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#free += 1;
  }
}
