import type { Readable, Writable } from "node:stream";

const END = "\0";

/** Chromium's debugging pipe: messages of JSON, each ended by a NUL. */
export class CdpPipe {
  readonly #toBrowser: Writable;
  readonly #fromBrowser: Readable;
  #parts: Buffer[] = [];
  #holders = 0;
  #isClosed = false;

  constructor(toBrowser: Writable, fromBrowser: Readable) {
    this.#toBrowser = toBrowser;
    this.#fromBrowser = fromBrowser;
  }

  /** Starts reading. `onClose` is called once, when the browser has closed its end. */
  open(onMessage: (bytes: Buffer) => void, onClose: () => void): void {
    const close = (): void => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      onClose();
    };
    this.#fromBrowser.on("data", (chunk: Buffer) => this.#read(chunk, onMessage));
    this.#fromBrowser.on("error", close);
    this.#fromBrowser.on("close", close);
    // A browser that dies breaks both ends; the other one tells.
    this.#toBrowser.on("error", () => {});
  }

  /** Sends one message. Returns false when the browser is slow: then wait for `whenWritable`. */
  write(text: string): boolean {
    return this.#isClosed || this.#toBrowser.write(text + END);
  }

  whenWritable(go: () => void): void {
    this.#toBrowser.once("drain", go);
  }

  /** Stops reading until every holder has released it: the browser then waits, not this process's memory. */
  hold(): void {
    this.#holders += 1;
    this.#fromBrowser.pause();
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#fromBrowser.resume();
  }

  #read(chunk: Buffer, onMessage: (bytes: Buffer) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, start)) {
      onMessage(this.#whole(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
  }

  #whole(last: Buffer): Buffer {
    if (this.#parts.length === 0) return last;
    const bytes = Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    return bytes;
  }
}
