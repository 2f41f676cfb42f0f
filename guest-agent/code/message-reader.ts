/** What a kernel may say in one message, beside the bytes of a result. */
const OTHER_BYTES = 256 * 1024;

/** Takes the messages of a kernel apart: `u32be length | JSON`. Nothing in them is trusted: memory is one message at most. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #head = Buffer.alloc(4);
  #headBytes = 0;
  #body: Buffer[] = [];
  #left = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes + OTHER_BYTES;
  }

  /** Bytes of the message that has begun, once its length is known; else 0. */
  get bytes(): number {
    return this.#left === 0 ? 0 : this.#head.readUInt32BE();
  }

  /** The messages that end in a chunk. Throws when one is too long. */
  *push(chunk: Buffer): Generator<Buffer> {
    for (let at = 0; at < chunk.length;) {
      if (this.#left === 0) {
        const step = chunk.copy(this.#head, this.#headBytes, at);
        at += step;
        this.#headBytes += step;
        if (this.#headBytes < 4) return;
        this.#headBytes = 0;
        this.#left = this.#head.readUInt32BE();
        if (this.#left === 0 || this.#left > this.#maxBytes)
          throw new Error(`a message of ${this.#left} bytes`);
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      this.#body.push(part);
      this.#left -= part.length;
      at += part.length;
      if (this.#left > 0) return;
      const whole = Buffer.concat(this.#body);
      this.#body = [];
      yield whole;
    }
  }
}
