/** How long a guest may do nothing in a transfer that waits for it. */
const STILL_MS = 60_000;

/** Gives up on a guest that lets a transfer wait for too long. The time in which its caller is waited for does not count. */
export class Patience {
  readonly #onOver: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  /** From now on the guest is waited for. */
  begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onOver, STILL_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
