/** Methods that may go on at once after their requests were answered. */
export const OVERDUE_MAX = 32;

/** A method that keeps its time has so much more than `timeoutMs`, then the server answers for it. */
export const OWN_END_MS = 5_000;

/** A cancelled or late method has so long to end in order, then its request is answered without it. */
export const LAST_WORD_MS = 500;

/** Counts methods that go on although their requests were answered: nobody can end a method from outside. */
export class Overdue {
  #count = 0;

  get isFull(): boolean {
    return this.#count >= OVERDUE_MAX;
  }

  /** Counts a method until it has ended. What the method answers, or why it fails, is dropped. */
  add(running: Promise<unknown>): void {
    this.#count += 1;
    const end = (): void => void (this.#count -= 1);
    running.then(end, end);
  }
}

/** Resolves with the answer of a method. Rejects with the signal's reason when the method goes on `LAST_WORD_MS` after the abort. */
export async function stopWaiting<Result>(
  running: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let wait = (): void => {};
  const given = new Promise<never>((_resolve, reject) => {
    wait = () => void (timer = setTimeout(() => reject(signal.reason), LAST_WORD_MS));
  });
  signal.addEventListener("abort", wait, { once: true });
  try {
    return await Promise.race([running, given]);
  } finally {
    signal.removeEventListener("abort", wait);
    if (timer !== null) clearTimeout(timer);
  }
}
