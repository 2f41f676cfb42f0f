import { LIMITS } from "@svc/contract/limits.ts";

/** How long an exit that has failed slowly is not tried again. */
const REST_MS = 10_000;
/** A failure that comes sooner costs a create little: it may be over with the next one. */
const SLOW_MS = LIMITS.exitCheckMs / 2;
/** Customers name states, cities and networks: more exits than these are forgotten, the oldest first. */
const MOST_KEPT = 1_000;

/**
 * The exits whose last proof has failed slowly. While one rests, sessions do without it at once; then one session tries it,
 * and the others do without it meanwhile.
 */
export class ExitRests {
  /** By the exit: until when nobody tries it. */
  readonly #until = new Map<string, number>();

  /** Whether an exit may be tried now. Who gets a yes tells how it went. */
  mayTry(exit: string): boolean {
    const until = this.#until.get(exit);
    if (until === undefined) return true;
    if (performance.now() < until) return false;
    this.#rest(exit, LIMITS.exitCheckMs);
    return true;
  }

  proved(exit: string): void {
    this.#until.delete(exit);
  }

  /** `tookMs`: how long the session has waited for the failure. */
  failed(exit: string, tookMs: number): void {
    if (tookMs >= SLOW_MS) this.#rest(exit, REST_MS);
    else this.#until.delete(exit);
  }

  /** Nobody waited for the end of the proof: the next session tries the exit again. */
  left(exit: string): void {
    if (this.#until.has(exit)) this.#rest(exit, 0);
  }

  #rest(exit: string, ms: number): void {
    this.#until.delete(exit);
    this.#until.set(exit, performance.now() + ms);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MOST_KEPT && oldest !== undefined) this.#until.delete(oldest);
  }
}
