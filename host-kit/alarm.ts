// A timer of Node counts in 32 bits: a longer timer would fire at once.
const LONGEST_MS = 2 ** 31 - 1;

/** Calls `ring` at a time on the wall clock, however far ahead. Returns what cancels it. */
export function setAlarm(at: number, ring: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const left = at - Date.now();
    timer = left > LONGEST_MS ? setTimeout(arm, LONGEST_MS) : setTimeout(ring, Math.max(0, left));
  };
  arm();
  return () => clearTimeout(timer);
}
