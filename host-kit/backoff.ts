export interface Backoff {
  /** After the first failure. Doubles with each further one. */
  firstMs: number;
  mostMs: number;
}

/** How long to wait before the next try, after so many failures in a row (1 or more). */
export function backoffMs(failures: number, { firstMs, mostMs }: Backoff): number {
  return Math.min(mostMs, firstMs * 2 ** (failures - 1));
}
