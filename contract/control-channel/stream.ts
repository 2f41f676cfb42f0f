import { BINARY_PAYLOAD_BYTES, type Channel, encodeBinary } from "./binary-frame.ts";
import type { Wire } from "./wire.ts";

/** Bytes that may be under way in one direction of a stream. */
export const WINDOW_BYTES = 1024 * 1024;

/** The receiver gives credit each time it has consumed this much. */
export const CREDIT_STEP_BYTES = WINDOW_BYTES / 4;

/** Takes the bytes of a stream in order; the next bytes come when the handler is done. Empty: the channel has ended. */
export type BytesHandler = (channel: Channel, bytes: Uint8Array) => void | Promise<void>;

interface StreamOptions {
  id: number;
  wire: Wire;
  sendCredit: (bytes: number) => void;
}

/** The bytes of one request, both ways, with credit (control-channel.md, Flow control). */
export class Stream {
  readonly id: number;
  readonly #options: StreamOptions;
  #credit = WINDOW_BYTES;
  #wakeWriters: (() => void)[] = [];
  #queue: [Channel, Uint8Array][] = [];
  #handler: BytesHandler | null = null;
  #pumping: Promise<void> | null = null;
  #unconsumed = 0;
  #uncredited = 0;
  #isClosed = false;

  constructor(options: StreamOptions) {
    this.id = options.id;
    this.#options = options;
  }

  /** Sends bytes as far as the other side has room, and waits for room for the rest. False: the stream is over. */
  async write(channel: Channel, bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length;) {
      const room = await this.#room();
      if (room === 0) return false;
      const part = bytes.subarray(at, at + Math.min(room, BINARY_PAYLOAD_BYTES));
      this.#credit -= part.length;
      at += part.length;
      this.#options.wire.sendBinary(encodeBinary(this.id, channel, part));
    }
    return !this.#isClosed;
  }

  /** Ends a channel. */
  end(channel: Channel): void {
    if (this.#isClosed) return;
    this.#options.wire.sendBinary(encodeBinary(this.id, channel, new Uint8Array()));
  }

  /** Sets the handler of arriving bytes. Bytes that came before wait for it. */
  onBytes(handler: BytesHandler): void {
    this.#handler = handler;
    this.#pump();
  }

  /** Resolves when the handler has taken everything that has arrived. */
  async drained(): Promise<void> {
    while (this.#pumping) await this.#pumping;
  }

  /** Adds credit: the other side has consumed bytes. */
  grant(bytes: number): void {
    this.#credit = Math.min(WINDOW_BYTES, this.#credit + bytes);
    this.#wake();
  }

  /** Takes bytes that have arrived. False: more bytes than the credit allows. */
  receive(channel: Channel, bytes: Uint8Array): boolean {
    if (this.#isClosed) return true;
    this.#unconsumed += bytes.length;
    if (this.#unconsumed > WINDOW_BYTES) return false;
    this.#queue.push([channel, bytes]);
    this.#pump();
    return true;
  }

  /** Ends the stream with its request: writers give up, nothing more is delivered. */
  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#wake();
  }

  /** How much may be sent now; 0 when the stream is over. */
  async #room(): Promise<number> {
    while (!this.#isClosed) {
      const full = this.#options.wire.whenWritable();
      if (full) await full;
      else if (this.#credit > 0) return this.#credit;
      else await new Promise<void>((resolve) => this.#wakeWriters.push(resolve));
    }
    return 0;
  }

  #wake(): void {
    const writers = this.#wakeWriters;
    this.#wakeWriters = [];
    for (const wake of writers) wake();
  }

  #pump(): void {
    if (this.#pumping || !this.#handler || this.#queue.length === 0) return;
    this.#pumping = this.#deliver(this.#handler).finally(() => {
      this.#pumping = null;
      this.#pump();
    });
  }

  async #deliver(handler: BytesHandler): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      const [channel, bytes] = next;
      const taken = handler(channel, bytes);
      if (taken) await taken;
      this.#consumed(bytes.length);
    }
  }

  #consumed(bytes: number): void {
    this.#unconsumed -= bytes;
    this.#uncredited += bytes;
    if (this.#uncredited < CREDIT_STEP_BYTES || this.#isClosed) return;
    this.#options.sendCredit(this.#uncredited);
    this.#uncredited = 0;
  }
}
