/** The host's own clock in milliseconds since the epoch, which no change of the wall clock moves. */
export const hostNowMs = (): number => Math.round(performance.timeOrigin + performance.now());

/**
 * The use of one machine: requests, bytes, and work in flight, which is work that somebody waits for. The host alone keeps
 * it, and nothing else decides whether a machine is in use.
 */
export class MachineUse {
  /** Counts the uses, so that a use in between shows however short it was. */
  count = 0;
  readonly #onUse: () => void;
  #inFlight = 0;
  #lastAt = hostNowMs();

  /** `onUse`: the machine is about to be needed. */
  constructor(onUse: () => void = () => {}) {
    this.#onUse = onUse;
  }

  /** The last use, by `hostNowMs`: now, while work is in flight. */
  get lastAt(): number {
    return this.#inFlight > 0 ? hostNowMs() : this.#lastAt;
  }

  /** For how long nobody has used the machine. */
  get unusedMs(): number {
    // Of one look at the clock: however long this process stands still in between, what is in use is not unused.
    return this.#inFlight > 0 ? 0 : hostNowMs() - this.#lastAt;
  }

  /** Notes a use that is over at once. */
  note(): void {
    this.count += 1;
    this.#lastAt = hostNowMs();
    this.#onUse();
  }

  /** Notes work in flight: the machine is in use until the returned function is called. */
  begin(): () => void {
    this.note();
    this.#inFlight += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#inFlight -= 1;
      this.count += 1;
      this.#lastAt = hostNowMs();
    };
  }
}
