import type { Channel } from "./binary-frame.ts";

/** Bytes of one part: what arrives in small pieces is put together up to this size. */
const PART_BYTES = 64 * 1024;
/** With more parts than this, pieces join the last part of their channel, behind pieces of other channels. */
const ORDERED_PARTS = 256;

interface Part {
  channel: Channel;
  /** May have room behind `used`. */
  bytes: Uint8Array;
  used: number;
}

/**
 * Bytes of a stream that wait for their handler. They are copied: a piece of one byte would keep the whole chunk it came in. Memory
 * is twice the bytes at most, however small the pieces are. Each channel keeps its order.
 */
export class ArrivedBytes {
  readonly #parts: Part[] = [];
  /** The newest part of each channel. */
  readonly #last: (Part | undefined)[] = [];

  push(channel: Channel, bytes: Uint8Array): void {
    const last = this.#parts.length < ORDERED_PARTS ? this.#parts.at(-1) : this.#last[channel];
    if (last?.channel === channel && bytes.length > 0 && last.used + bytes.length <= PART_BYTES)
      append(last, bytes);
    else this.#add({ channel, bytes: bytes.slice(), used: bytes.length });
  }

  /** Takes the oldest part. */
  shift(): { channel: Channel; bytes: Uint8Array } | undefined {
    const part = this.#parts.shift();
    if (!part) return undefined;
    if (this.#last[part.channel] === part) this.#last[part.channel] = undefined;
    return { channel: part.channel, bytes: part.bytes.subarray(0, part.used) };
  }

  clear(): void {
    this.#parts.length = 0;
    this.#last.length = 0;
  }

  #add(part: Part): void {
    this.#parts.push(part);
    this.#last[part.channel] = part;
  }
}

function append(part: Part, bytes: Uint8Array): void {
  const used = part.used + bytes.length;
  if (used > part.bytes.length) {
    const grown = new Uint8Array(Math.min(PART_BYTES, 2 * used));
    grown.set(part.bytes.subarray(0, part.used));
    part.bytes = grown;
  }
  part.bytes.set(bytes, part.used);
  part.used = used;
}
