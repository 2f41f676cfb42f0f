/** A span of time for which a machine is billed. Times are ms since the epoch. */
export interface Span {
  /** Counts the spans of one machine from 1. */
  n: number;
  startedAt: number;
  /** null while it runs. */
  endedAt: number | null;
}

/** What is billed of a machine: at most one span is open, and closed ones stay until they are written. */
export interface Bill {
  /** How many spans there have been. */
  count: number;
  spans: readonly Span[];
}

export const NO_BILL: Bill = { count: 0, spans: [] };

/** Whether a span is open. */
export const isBilling = ({ spans }: Bill): boolean =>
  spans.some(({ endedAt }) => endedAt === null);

/** Opens a span, unless one is open. */
export function openSpan(bill: Bill, startedAt: number): Bill {
  if (isBilling(bill)) return bill;
  const n = bill.count + 1;
  return { count: n, spans: [...bill.spans, { n, startedAt, endedAt: null }] };
}

/** Closes the open span; a span that would end before it began gets no length. */
export function closeSpan(bill: Bill, at: number): Bill {
  if (!isBilling(bill)) return bill;
  const spans = bill.spans.map((span) =>
    span.endedAt === null ? { ...span, endedAt: Math.max(at, span.startedAt) } : span,
  );
  return { ...bill, spans };
}

/** Forgets closed spans that were written. */
export function dropWritten(bill: Bill, written: readonly Span[]): Bill {
  const isWritten = ({ n, endedAt }: Span) =>
    endedAt !== null && written.some((other) => other.n === n && other.endedAt === endedAt);
  const spans = bill.spans.filter((span) => !isWritten(span));
  return spans.length === bill.spans.length ? bill : { ...bill, spans };
}

/** Whether a span was opened, or closed, since the bill before. */
export const hasNewSpan = (before: Bill, after: Bill): boolean =>
  after.spans.some((span) => !before.spans.includes(span));
