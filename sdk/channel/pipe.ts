import { ControlError } from "../errors.ts";

/**
 * Things that one side makes and another one takes, in order. `push` resolves when the thing was taken: a maker that waits
 * for it never gets ahead of a taker by more than one.
 */
export class Pipe<Item> implements AsyncIterableIterator<Item, void> {
  readonly #items: { item: Item; taken: () => void }[] = [];
  #wake: () => void = () => {};
  #end: { error: unknown } | null = null;
  #isLeft = false;
  readonly #onLeave: () => void;

  /** `onLeave`: the taker has gone before the end. */
  constructor(onLeave: () => void = () => {}) {
    this.#onLeave = onLeave;
  }

  /** How many things wait. */
  get length(): number {
    return this.#items.length;
  }

  push(item: Item): Promise<void> {
    if (this.#isLeft || this.#end) return Promise.resolve();
    return new Promise((taken) => {
      this.#items.push({ item, taken });
      this.#wake();
    });
  }

  /** Ends the pipe once all was taken, or with an error. */
  end(error: unknown = null): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Ends the pipe as a promise ends. */
  endWith(ending: Promise<unknown>): void {
    ending.then(
      () => this.end(),
      (error: unknown) => this.end(error),
    );
  }

  async next(): Promise<IteratorResult<Item, void>> {
    for (;;) {
      const first = this.#items.shift();
      if (first) {
        first.taken();
        return { done: false, value: first.item };
      }
      if (this.#isLeft) return { done: true, value: undefined };
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async return(): Promise<IteratorResult<Item, void>> {
    this.#isLeft = true;
    for (const { taken } of this.#items.splice(0)) taken();
    this.#wake();
    if (!this.#end) this.#onLeave();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** The reason of a call's end when its reader has left the loop. */
export const left = (): ControlError => new ControlError("Cancelled", "The reader has left.");
