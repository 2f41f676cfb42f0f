// Runtimes before `await using` have no such symbol; what is written there for it is found by this one.
(Symbol as { asyncDispose?: symbol }).asyncDispose ??= Symbol.for("Symbol.asyncDispose");

/** A thing that the service keeps until it is ended: `await using` ends it with its block. */
export abstract class Held implements AsyncDisposable {
  #isKept = false;

  /** Keeps the thing at the end of the block: it lives on. */
  keep(): this {
    this.#isKept = true;
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#isKept ? this.detach() : this.end());
  }

  /** Closes the connections of this program; the thing lives on. */
  protected async detach(): Promise<void> {}

  /** Ends the thing at the service. */
  protected abstract end(): Promise<unknown>;
}
