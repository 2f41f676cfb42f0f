import { type BytePlace, placeOf, readRange } from "@svc/contract/byte-range.ts";

/** What of a file an answer carries. */
export interface Part extends BytePlace {
  isWhole: boolean;
}

/**
 * The part of a file that a `Range` header asks for: the whole file where the header is to be ignored, and of an empty
 * file. Null where the file ends before the range.
 */
export function partOf(header: string | undefined, size: number): Part | null {
  const range = readRange(header);
  if (!range || size === 0) return { isWhole: true, offset: 0, length: size };
  const place = placeOf(range, size);
  return place.length > 0 ? { isWhole: false, ...place } : null;
}
