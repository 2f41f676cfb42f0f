interface Change {
  kind: string;
  result: Promise<unknown>;
}

/** Queues in which changes of one thing run one after another: a queue for each id. */
export class Lanes {
  readonly #last = new Map<string, Change>();

  /** Runs a change when the changes before it are over, however they ended. */
  run<Result>(id: string, kind: string, change: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(id)?.result ?? Promise.resolve();
    const result = before.then(change, change);
    const mine: Change = { kind, result };
    this.#last.set(id, mine);
    const over = (): void => {
      if (this.#last.get(id) === mine) this.#last.delete(id);
    };
    result.then(over, over);
    return result;
  }

  /** The same, but where the last change in the queue is of this kind, its result is returned. */
  join<Result>(id: string, kind: string, change: () => Promise<Result>): Promise<Result> {
    const last = this.#last.get(id);
    // Changes of one kind have one type of result.
    return last?.kind === kind ? (last.result as Promise<Result>) : this.run(id, kind, change);
  }
}
