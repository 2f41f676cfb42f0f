/** The part of the host's time that reading from one machine may take. */
const SHARE = 0.25;
/** How long it may take in one go. */
const BURST_MS = 20;
/** Most of one go that counts: a machine waits 100 ms at most. */
const COUNTED_MS = 25;

/** Keeps one machine from taking the host's time from the others, whatever it says. */
export class TimeShare {
  #spentMs = 0;
  #at = performance.now();

  /** Notes work for the machine. Says how long the machine must wait before its next words are read. */
  spend(tookMs: number): number {
    const now = performance.now();
    const earnedMs = (now - this.#at) * SHARE;
    this.#at = now;
    this.#spentMs = Math.max(0, this.#spentMs - earnedMs) + Math.min(tookMs, COUNTED_MS);
    return Math.max(0, this.#spentMs - BURST_MS) / SHARE;
  }
}
