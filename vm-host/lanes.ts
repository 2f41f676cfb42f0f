interface Turn {
  kind: string;
  result: Promise<unknown>;
}

/** Acts on machines, for each machine one after the other. */
export class Lanes {
  readonly #last = new Map<string, Turn>();

  /** Runs an act when those before it are over, however they ended. */
  run<Result>(id: string, kind: string, act: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(id)?.result ?? Promise.resolve();
    const result = before.then(act, act);
    const turn: Turn = { kind, result };
    this.#last.set(id, turn);
    const over = (): void => {
      if (this.#last.get(id) === turn) this.#last.delete(id);
    };
    result.then(over, over);
    return result;
  }

  /** The same, but who asks for what is already the last to be done gets that one's result. */
  join<Result>(id: string, kind: string, act: () => Promise<Result>): Promise<Result> {
    const last = this.#last.get(id);
    // One kind of act has one type of result.
    return last?.kind === kind ? (last.result as Promise<Result>) : this.run(id, kind, act);
  }
}
