/** Works of which only so many go on at once; the others wait, one for each key. */
export class Limiter<Key> {
  readonly #atOnce: number;
  /** Waiting or under way. */
  readonly #taken = new Set<Key>();
  readonly #waiting: { key: Key; work: () => Promise<void> }[] = [];
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Does a work when its turn comes. Does nothing while the last work of this key is not over. A work may not fail. */
  run(key: Key, work: () => Promise<void>): void {
    if (this.#taken.has(key)) return;
    this.#taken.add(key);
    this.#waiting.push({ key, work });
    this.#next();
  }

  #next(): void {
    if (this.#running >= this.#atOnce) return;
    const next = this.#waiting.shift();
    if (!next) return;
    this.#running += 1;
    void next.work().finally(() => {
      this.#running -= 1;
      this.#taken.delete(next.key);
      this.#next();
    });
  }
}
