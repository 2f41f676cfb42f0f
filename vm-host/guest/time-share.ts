/** The part of the host's time that reading from one machine may take. */
const SHARE = 0.25;
/** How long it may take in one go. */
const BURST_MS = 20;
/** Most of one piece of work that counts: a thread that was kept from working is not the machine's fault. */
const COUNTED_MS = 25;
/** Longest wait of a machine before its next words are read. */
const LONGEST_WAIT_MS = 1_000;
/**
 * What a frame counts that nobody waits for. A request that is cancelled may leave 1 MiB behind: it costs its machine a wait
 * below 100 ms. A guest that sends such frames without an end is read at a few MiB a second.
 */
const UNWANTED_FRAME_MS = 0.05;
const UNWANTED_MS_PER_KIB = 2 / 64;
/** What a broken rule counts, beside its bytes. An agent breaks none: a guest that does is read 250 of them a second. */
const BREACH_MS = 1;

/**
 * Keeps one machine from taking the host's time from the others, whatever it says. The time of the host's thread is only a part of what
 * words cost: QEMU, the kernel and the collector of garbage work for them too. So words that serve nobody count more than they take.
 */
export class TimeShare {
  #spentMs = 0;
  #at = performance.now();

  /** Notes work for the machine. Says how long the machine must wait before its next words are read. */
  spend(tookMs: number): number {
    this.#add(Math.min(tookMs, COUNTED_MS));
    return Math.max(0, this.#spentMs - BURST_MS) / SHARE;
  }

  /** Notes a frame that nobody waits for. */
  unwanted(bytes: number): void {
    this.#add(UNWANTED_FRAME_MS + (bytes / 1024) * UNWANTED_MS_PER_KIB);
  }

  /** Notes a broken rule. */
  breach(): void {
    this.#add(BREACH_MS);
  }

  #add(ms: number): void {
    const now = performance.now();
    const earnedMs = (now - this.#at) * SHARE;
    this.#at = now;
    const spentMs = Math.max(0, this.#spentMs - earnedMs) + ms;
    this.#spentMs = Math.min(spentMs, BURST_MS + LONGEST_WAIT_MS * SHARE);
  }
}
