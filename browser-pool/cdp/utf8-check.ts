import { isUtf8 } from "node:buffer";

/** Checks that text which comes in pieces is UTF-8; a character may lie across two of them. */
export class Utf8Check {
  #carried = Buffer.alloc(0);
  #isBroken = false;

  push(piece: Buffer): void {
    if (this.#isBroken) return;
    let rest = piece;
    if (this.#carried.length > 0) {
      const missing = lengthOf(this.#carried[0] ?? 0) - this.#carried.length;
      const joined = Buffer.concat([this.#carried, piece.subarray(0, missing)]);
      rest = piece.subarray(missing);
      if (joined.length < lengthOf(joined[0] ?? 0)) {
        this.#carried = joined;
        return;
      }
      this.#isBroken = !isUtf8(joined);
    }
    const end = rest.length - unfinished(rest);
    this.#carried = Buffer.from(rest.subarray(end));
    this.#isBroken ||= !isUtf8(rest.subarray(0, end));
  }

  /** Whether everything until now was UTF-8. A character that has only begun counts as good. */
  get isGood(): boolean {
    return !this.#isBroken;
  }

  /** Whether everything was UTF-8, and no character is missing its end. */
  get isWhole(): boolean {
    return !this.#isBroken && this.#carried.length === 0;
  }
}

/** How many bytes a character takes that begins with this one. */
function lengthOf(first: number): number {
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/** How many bytes at the end belong to a character that goes on. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}
