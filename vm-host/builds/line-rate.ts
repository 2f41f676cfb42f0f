import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";

const { logLines, logLinesPerSecond, countedCharacters } = TEMPLATE_LIMITS;

/**
 * How many lines of programs a build's log takes: as many as it keeps at once, then so many a second. After one that was left out
 * it takes none until a second's worth has been saved, so that what it takes hangs together.
 */
export class LineRate {
  #saved: number = logLines;
  #at: number;
  #isOver = false;

  constructor(now: number) {
    this.#at = now;
  }

  /** Saves up for the time that has passed. */
  pass(now: number): void {
    const earned = ((now - this.#at) / 1_000) * logLinesPerSecond;
    this.#saved = Math.min(logLines, this.#saved + earned);
    this.#at = now;
    if (this.#saved >= logLinesPerSecond) this.#isOver = false;
  }

  /** Whether the log takes a line of this length. */
  takes(characters: number): boolean {
    if (this.#isOver) return false;
    const cost = 1 + Math.floor(characters / countedCharacters);
    if (this.#saved < cost) this.#isOver = true;
    else this.#saved -= cost;
    return !this.#isOver;
  }
}
