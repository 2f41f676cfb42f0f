import type { Writable } from "node:stream";

const FIRST_BLOCK_BYTES = 4 * 1024;
const BLOCK_BYTES = 64 * 1024;
/** Longer messages are not joined. */
const JOINED_BYTES = 16 * 1024;

/**
 * The bytes of one message as they came, in pieces that are not joined: joining a long message stops everybody. Memory
 * stays near the length of the message, however small the pieces are.
 */
export class Pieces {
  #size = 0;
  readonly #whole: Buffer[] = [];
  /** The latest piece, which is copied only when another one follows. */
  #last: Buffer | null = null;
  #block: Buffer | null = null;
  #blockBytes = 0;

  get size(): number {
    return this.#size;
  }

  push(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#last) this.#keep(this.#last);
    this.#last = piece;
    this.#size += piece.length;
  }

  /** All bytes. */
  get list(): Buffer[] {
    const block = this.#block?.subarray(0, this.#blockBytes);
    return [...this.#whole, ...(block ? [block] : []), ...(this.#last ? [this.#last] : [])];
  }

  /** The bytes from `start` to `end`, not copied. */
  slice(start: number, end: number): Buffer[] {
    return sliceOf(this.list, start, end);
  }

  /** The bytes from `start` to `end`, joined: for short parts. */
  bytes(start: number, end: number): Buffer {
    if (this.#last?.length === this.#size) return this.#last.subarray(start, end);
    return Buffer.concat(this.slice(start, end));
  }

  join(): Buffer {
    return this.bytes(0, this.#size);
  }

  // A small piece of a large chunk would keep the whole chunk in memory.
  #keep(piece: Buffer): void {
    if (piece.length * 4 >= piece.buffer.byteLength * 3 && piece.length >= FIRST_BLOCK_BYTES) {
      this.#closeBlock();
      this.#whole.push(piece);
      return;
    }
    let at = 0;
    while (at < piece.length) {
      const block = this.#openBlock();
      const copied = piece.copy(block, this.#blockBytes, at);
      this.#blockBytes += copied;
      at += copied;
      if (this.#blockBytes === block.length) this.#closeBlock();
    }
  }

  #openBlock(): Buffer {
    const bytes = Math.min(BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, this.#size));
    this.#block ??= Buffer.allocUnsafeSlow(bytes);
    return this.#block;
  }

  #closeBlock(): void {
    if (!this.#block) return;
    const used = this.#block.subarray(0, this.#blockBytes);
    // A block that is closed early holds what a whole piece follows: half empty ones are copied once more.
    this.#whole.push(used.length * 2 < this.#block.length ? Buffer.from(used) : used);
    this.#block = null;
    this.#blockBytes = 0;
  }
}

/** The bytes from `start` to `end` of a list of pieces. */
export function sliceOf(list: Buffer[], start: number, end: number): Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  for (const piece of list) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.length);
    if (from < to) found.push(piece.subarray(from, to));
    at += piece.length;
    if (at >= end) break;
  }
  return found;
}

/** Writes pieces of one message at once: short ones joined, since each write has a price, and long ones as they are. */
export function writeTogether(output: Writable, pieces: Buffer[]): boolean {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= JOINED_BYTES) return output.write(Buffer.concat(pieces, bytes));
  output.cork();
  for (const piece of pieces) output.write(piece);
  output.uncork();
  return !output.writableNeedDrain;
}
