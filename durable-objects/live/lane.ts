/** A queue: each work begins when the one before it is over, however that ended. */
export class Lane {
  #last: Promise<unknown> = Promise.resolve();
  #length = 0;

  get isBusy(): boolean {
    return this.#length > 0;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    this.#length += 1;
    const done = this.#last.then(work).finally(() => (this.#length -= 1));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all work that is in the lane now is over. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
