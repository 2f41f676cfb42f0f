const TOLD_EVERY_MS = 60_000;
const REASON_CHARACTERS = 200;

/** Tells of broken rules at most once a minute: a hostile guest breaks thousands a second. */
export class Breaches {
  /** Hears of them. */
  tell: ((breach: { reason: string; others: number }) => void) | null = null;
  #toldAt = Number.NEGATIVE_INFINITY;
  /** Broken since the last one that was told. */
  #others = 0;

  readonly note = (reason: string): void => {
    const now = performance.now();
    if (!this.tell || now - this.#toldAt < TOLD_EVERY_MS) {
      this.#others += 1;
      return;
    }
    this.tell({ reason: reason.slice(0, REASON_CHARACTERS), others: this.#others });
    this.#toldAt = now;
    this.#others = 0;
  };
}
