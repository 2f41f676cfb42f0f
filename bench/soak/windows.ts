/** Times in which a kill may be felt. What fails outside of them has no excuse. */
export class KillWindows {
  readonly #windows: { from: number; to: number }[] = [];

  /** Opens one now; the returned function closes it, a while after the service has recovered. */
  open(slackMs: number): () => void {
    const window = { from: performance.now(), to: Number.POSITIVE_INFINITY };
    this.#windows.push(window);
    return () => void (window.to = performance.now() + slackMs);
  }

  /** Whether something that began then and ended now was under a kill. */
  hasTouched(from: number): boolean {
    const now = performance.now();
    return this.#windows.some((window) => window.from <= now && window.to >= from);
  }
}
