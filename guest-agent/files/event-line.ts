/** Events that may wait to be told. */
const WAITING_MAX = 10_000;

/** Tells events one after another, so that they keep their order. What comes while too many wait is dropped. */
export class EventLine {
  readonly #tellOverflow: () => void;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isOver = false;

  /** `tellOverflow` tells, at their place in the order, that events were dropped. */
  constructor(tellOverflow: () => void) {
    this.#tellOverflow = tellOverflow;
  }

  add(tell: () => Promise<void>): void {
    if (this.#waiting < WAITING_MAX) return this.#push(tell);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#push(async () => {
      this.#isOver = false;
      this.#tellOverflow();
    });
  }

  #push(tell: () => Promise<void>): void {
    this.#waiting += 1;
    this.#last = this.#last.then(tell).finally(() => (this.#waiting -= 1));
  }
}
