import type { Readable, Writable } from "node:stream";

const END = "\0";

/** Messages of JSON, each ended by a NUL: Chromium's debugging pipe, and the pool's connection to a Playwright. */
export class CdpPipe {
  readonly #output: Writable;
  readonly #input: Readable;
  #parts: Buffer[] = [];
  #holders = 0;
  readonly #mostBytes: number;
  #partBytes = 0;
  #isClosed = false;

  /** `mostBytes`: a longer message breaks the line. */
  constructor(output: Writable, input: Readable, mostBytes = Number.POSITIVE_INFINITY) {
    this.#output = output;
    this.#input = input;
    this.#mostBytes = mostBytes;
  }

  /** Starts reading. `onClose` is called once, when the other side has closed its end. */
  open(onMessage: (bytes: Buffer) => void, onClose: () => void): void {
    const close = (): void => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      onClose();
    };
    this.#input.on("data", (chunk: Buffer) => this.#read(chunk, onMessage));
    this.#input.on("error", close);
    this.#input.on("close", close);
    // A process that dies breaks both ends; the other one tells.
    this.#output.on("error", () => {});
  }

  /** Sends one message. Returns false when the other side is slow: then wait for `whenWritable`. */
  write(message: string | Buffer): boolean {
    if (this.#isClosed) return true;
    if (typeof message === "string") return this.#output.write(message + END);
    this.#output.cork();
    this.#output.write(message);
    const isFast = this.#output.write(END);
    this.#output.uncork();
    return isFast;
  }

  whenWritable(go: () => void): void {
    this.#output.once("drain", go);
  }

  /** Stops reading until every holder has released it: the browser then waits, not this process's memory. */
  hold(): void {
    this.#holders += 1;
    this.#input.pause();
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#input.resume();
  }

  #read(chunk: Buffer, onMessage: (bytes: Buffer) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, start)) {
      onMessage(this.#whole(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#partBytes += part.length;
    if (this.#partBytes > this.#mostBytes) this.#input.destroy();
  }

  #whole(last: Buffer): Buffer {
    if (this.#parts.length === 0) return last;
    const bytes = Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.#partBytes = 0;
    return bytes;
  }
}
