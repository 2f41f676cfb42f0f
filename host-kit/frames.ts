const CONTINUATION = 0;
/** The first opcode of control frames, which may come between the frames of a message. */
const CLOSE = 8;
const LONGEST_REASON_BYTES = 123;

/**
 * Follows the frames of one direction of a WebSocket by their headers alone (RFC 6455, 5.2): finds close frames without
 * holding a payload.
 */
export class FrameScanner {
  /** Whether a close frame has begun in this direction. */
  sawClose = false;
  /** The length of the longest message that has begun in this direction. */
  longestBytes = 0;
  readonly #header = Buffer.alloc(14);
  #headerBytes = 0;
  #payloadLeft = 0;
  #messageBytes = 0;

  /** Whether everything so far is whole frames: only then may another frame follow. */
  get isAtBoundary(): boolean {
    return this.#headerBytes === 0 && this.#payloadLeft === 0;
  }

  /** Takes the next chunk of the direction. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length)
      at = this.#payloadLeft > 0 ? this.#skip(chunk, at) : this.#readHeader(chunk, at);
  }

  /** Takes bytes that are payload, by their number alone. */
  pass(bytes: number): void {
    this.#payloadLeft = Math.max(0, this.#payloadLeft - bytes);
  }

  #skip(chunk: Buffer, at: number): number {
    const step = Math.min(this.#payloadLeft, chunk.length - at);
    this.#payloadLeft -= step;
    return at + step;
  }

  #readHeader(chunk: Buffer, at: number): number {
    this.#header[this.#headerBytes++] = chunk.readUInt8(at);
    if (this.#headerBytes >= 2 && this.#headerBytes === this.#headerLength()) {
      this.#payloadLeft = this.#payloadLength();
      this.#note(this.#header.readUInt8(0) & 0x0f);
      this.#headerBytes = 0;
    }
    return at + 1;
  }

  #note(opcode: number): void {
    if (opcode === CLOSE) this.sawClose = true;
    if (opcode >= CLOSE) return;
    const before = opcode === CONTINUATION ? this.#messageBytes : 0;
    this.#messageBytes = before + this.#payloadLeft;
    this.longestBytes = Math.max(this.longestBytes, this.#messageBytes);
  }

  #headerLength(): number {
    const second = this.#header.readUInt8(1);
    const mask = second & 0x80 ? 4 : 0;
    const short = second & 0x7f;
    return 2 + mask + (short === 126 ? 2 : short === 127 ? 8 : 0);
  }

  #payloadLength(): number {
    const short = this.#header.readUInt8(1) & 0x7f;
    if (short < 126) return short;
    return short === 126 ? this.#header.readUInt16BE(2) : Number(this.#header.readBigUInt64BE(2));
  }
}

/** Cuts a reason to the length that a close frame holds, at a whole character. */
export function shortReason(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > LONGEST_REASON_BYTES) text = text.slice(0, -1);
  return text;
}

/** A close frame as a server sends it: unmasked. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(shortReason(reason));
  const frame = Buffer.alloc(4 + text.length);
  frame.writeUInt8(0x80 | CLOSE, 0);
  frame.writeUInt8(2 + text.length, 1);
  frame.writeUInt16BE(code, 2);
  text.copy(frame, 4);
  return frame;
}
