import type { Readable, Writable } from "node:stream";
import { Intake } from "./intake.ts";
import { writeTogether } from "./pieces.ts";
import { Turns } from "./turns.ts";

const END = "\0";
const END_BYTES = Buffer.from(END);

/** Takes messages in the pieces in which they come. */
export interface MessageSink {
  piece: (bytes: Buffer) => void;
  /** The message is complete. */
  end: () => void;
}

/** Messages of JSON, each ended by a NUL: Chromium's debugging pipe, and the pool's connection to a Playwright. */
export class CdpPipe {
  /** Of all that reads for the same session. */
  readonly turns: Turns;
  readonly #output: Writable;
  readonly #intake: Intake;
  readonly #input: Readable;
  readonly #waiting: (() => void)[] = [];
  #sink: MessageSink | null = null;
  readonly #mostBytes: number;
  #isClosed = false;

  /** `mostBytes`: a longer message breaks a line that is read in whole messages. */
  constructor(
    output: Writable,
    input: Readable,
    turns = new Turns(),
    mostBytes = Number.POSITIVE_INFINITY,
  ) {
    this.#mostBytes = mostBytes;
    this.turns = turns;
    this.#output = output;
    this.#input = input;
    this.#intake = new Intake(input, turns, (chunk) => this.#take(chunk));
  }

  /** Bytes that the other side has not taken. */
  get waitingBytes(): number {
    return this.#output.writableLength;
  }

  /** Starts reading whole messages. `onClose` is called once, when the other side has closed its end. */
  open(onMessage: (bytes: Buffer) => void, onClose: () => void): void {
    let parts: Buffer[] = [];
    let size = 0;
    const piece = (bytes: Buffer): void => {
      parts.push(bytes);
      size += bytes.length;
      if (size > this.#mostBytes) this.#input.destroy();
    };
    const end = (): void => {
      const [only] = parts;
      const bytes = parts.length === 1 && only ? only : Buffer.concat(parts);
      parts = [];
      size = 0;
      onMessage(bytes);
    };
    this.read({ piece, end }, onClose);
  }

  /** Starts reading messages in pieces. */
  read(sink: MessageSink, onClose: () => void): void {
    const close = (): void => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      onClose();
    };
    this.#sink = sink;
    this.#input.on("error", close);
    this.#input.on("close", close);
    // A process that dies breaks both ends; the other one tells.
    this.#output.on("error", () => {});
    this.#output.on("drain", () => {
      for (const go of this.#waiting.splice(0)) go();
    });
    this.#intake.start();
  }

  /** Sends one message, of pieces perhaps. Returns false when the other side is slow: then wait for `whenWritable`. */
  write(message: string | Buffer | Buffer[]): boolean {
    if (this.#isClosed) return true;
    if (typeof message === "string") return this.#output.write(message + END);
    const pieces = Array.isArray(message) ? message : [message];
    return writeTogether(this.#output, [...pieces, END_BYTES]);
  }

  whenWritable(go: () => void): void {
    this.#waiting.push(go);
  }

  /** Stops reading until every holder has released it: the browser then waits, not this process's memory. */
  hold(): void {
    this.#intake.hold();
  }

  release(): void {
    this.#intake.release();
  }

  #take(chunk: Buffer): number {
    const end = chunk.indexOf(0);
    if (end < 0) this.#sink?.piece(chunk);
    else {
      if (end > 0) this.#sink?.piece(chunk.subarray(0, end));
      this.#sink?.end();
    }
    return end < 0 ? chunk.length : end + 1;
  }
}
