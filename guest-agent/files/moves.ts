import { heardAll } from "./inotify.ts";

/** The kernel tells the two halves of a move one after another; a busy processor may rest in between for as long as this. */
const HALVES_MS = 50;

interface Half<Moved> {
  moved: Moved;
  since: number;
  to: PromiseWithResolvers<string | null>;
}

/** Joins the halves of moves by their cookies. What left and does not come has gone elsewhere. */
export class Moves<Moved> {
  readonly #halves = new Map<number, Half<Moved>>();
  #timer: NodeJS.Timeout | null = null;

  /** Something left its name. Resolves with where it is by now; null: not below what is watched. */
  from(cookie: number, moved: Moved): Promise<string | null> {
    const to = Promise.withResolvers<string | null>();
    this.#halves.set(cookie, { moved, since: performance.now(), to });
    this.#timer ??= setTimeout(() => void this.#look(), HALVES_MS);
    return to.promise;
  }

  /** What left is there now. Undefined: it comes from elsewhere. */
  to(cookie: number, path: string): Moved | undefined {
    const half = this.#halves.get(cookie);
    this.#halves.delete(cookie);
    half?.to.resolve(path);
    return half?.moved;
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#giveUp([...this.#halves.keys()]);
  }

  /** Time alone says nothing where the agent itself was held up: what the kernel has by now is heard first. */
  async #look(): Promise<void> {
    const due = performance.now() - HALVES_MS;
    const late = [...this.#halves].filter(([, { since }]) => since <= due);
    await heardAll().catch(() => {});
    this.#giveUp(late.map(([cookie]) => cookie));
    this.#timer = null;
    if (this.#halves.size > 0) this.#timer = setTimeout(() => void this.#look(), HALVES_MS);
  }

  #giveUp(cookies: readonly number[]): void {
    for (const cookie of cookies) {
      this.#halves.get(cookie)?.to.resolve(null);
      this.#halves.delete(cookie);
    }
  }
}
