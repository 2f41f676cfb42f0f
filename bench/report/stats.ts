/** A list of measurements in few numbers. */
export interface Summary {
  n: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

/** Percentiles by nearest rank, so that each is a value that was measured. */
export function summarize(samples: number[]): Summary {
  const sorted = samples.toSorted((left, right) => left - right);
  const rank = (share: number): number =>
    sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { n: sorted.length, p50: rank(0.5), p95: rank(0.95), p99: rank(0.99), max: rank(1) };
}

export function median(samples: number[]): number {
  return summarize(samples).p50;
}

/** `12.3 (15.0 / 20.1)`: the median, and p95 and p99. */
export function summaryText(samples: number[]): string {
  if (samples.length === 0) return "-";
  const { p50, p95, p99 } = summarize(samples);
  return `${short(p50)} (${short(p95)} / ${short(p99)})`;
}

/** A number with as many digits as it deserves. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(Number.isInteger(value) ? 0 : digits);
}
