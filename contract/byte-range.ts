/** The wish of a `Range` header (RFC 9110, 14): bytes from an offset on, at most `length` of them, or the last `suffix` bytes. */
export type ByteRange = { offset: number; length?: number } | { suffix: number };

/** Where a range lies, in bytes. */
export interface BytePlace {
  offset: number;
  length: number;
}

/** Reads a `Range` header. Null for none, and for what is to be ignored: several ranges, another unit, an end before its start. */
export function readRange(header: string | undefined): ByteRange | null {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? "") ?? [];
  if (first === "") return last === "" ? null : { suffix: Number(last) };
  const offset = Number(first);
  if (last === "") return { offset };
  return Number(last) < offset ? null : { offset, length: Number(last) - offset + 1 };
}

/** Where a range lies in so many bytes. The length is 0 or less where the bytes end before the range. */
export function placeOf(range: ByteRange, size: number): BytePlace {
  if ("suffix" in range) {
    const length = Math.min(range.suffix, size);
    return { offset: size - length, length };
  }
  const { offset, length = size } = range;
  return { offset, length: Math.min(length, size - offset) };
}
