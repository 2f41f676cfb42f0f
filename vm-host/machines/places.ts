/** A number of places, for what may be open at once. */
export class Places {
  readonly #most: number;
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Does `work` in a place of its own; returns null, and does nothing, when all places are taken. */
  async with<Result>(work: () => Promise<Result>): Promise<Result | null> {
    if (this.#taken >= this.#most) return null;
    this.#taken += 1;
    try {
      return await work();
    } finally {
      this.#taken -= 1;
    }
  }
}
