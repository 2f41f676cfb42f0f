/** Acts of which so many go on at once; the others wait, each once. */
export class Turns<Key> {
  readonly #atOnce: number;
  /** Waiting or under way. */
  readonly #taken = new Set<Key>();
  readonly #waiting: { key: Key; act: () => Promise<void> }[] = [];
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Does it when it is its turn. Nothing while the last act of this key is not over. An act may not fail. */
  take(key: Key, act: () => Promise<void>): void {
    if (this.#taken.has(key)) return;
    this.#taken.add(key);
    this.#waiting.push({ key, act });
    this.#next();
  }

  #next(): void {
    if (this.#running >= this.#atOnce) return;
    const turn = this.#waiting.shift();
    if (!turn) return;
    this.#running += 1;
    void turn.act().finally(() => {
      this.#running -= 1;
      this.#taken.delete(turn.key);
      this.#next();
    });
  }
}
