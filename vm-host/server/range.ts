/** What of a file an answer carries. */
export interface Part {
  isWhole: boolean;
  offset: number;
  length: number;
}

/**
 * The part of a file that a `Range` header asks for (RFC 9110, 14): one range of bytes. The whole file for no range,
 * several, another unit, one that makes no sense, and of an empty file. Null where the file ends before the range.
 */
export function partOf(range: string | undefined, size: number): Part | null {
  const whole = { isWhole: true, offset: 0, length: size };
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/i.exec(range ?? "") ?? [];
  if (size === 0 || (first === "" && last === "")) return whole;
  if (first !== "" && last !== "" && Number(last) < Number(first)) return whole;
  const offset = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  return offset < end ? { isWhole: false, offset, length: end - offset } : null;
}
