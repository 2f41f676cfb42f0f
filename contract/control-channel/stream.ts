import { ArrivedBytes } from "./arrived-bytes.ts";
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
  /** The handler of arriving bytes has thrown: the stream is over. */
  onFault: (error: unknown) => void;
  /** So many bytes more, or fewer, wait for the handler. */
  onHeld?: (bytes: number) => void;
}

/** The bytes of one request, both ways, with credit (control-channel.md, Flow control). */
export class Stream {
  readonly id: number;
  readonly #options: StreamOptions;
  #credit = WINDOW_BYTES;
  #wakeWriters: (() => void)[] = [];
  readonly #arrived = new ArrivedBytes();
  /** Channels that the other side has ended. */
  readonly #ended = new Set<Channel>();
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
    this.#pumping ??= this.#pump(handler);
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

  /** Bytes that wait for the handler. */
  get heldBytes(): number {
    return this.#unconsumed;
  }

  /** Takes bytes that have arrived; what comes after the end of its channel is dropped. False: more bytes than the credit allows. */
  receive(channel: Channel, bytes: Uint8Array): boolean {
    if (this.#isClosed || this.#ended.has(channel)) return true;
    if (bytes.length === 0) this.#ended.add(channel);
    if (this.#unconsumed + bytes.length > WINDOW_BYTES) return false;
    this.#hold(bytes.length);
    if (this.#pumping || !this.#handler) this.#arrived.push(channel, bytes);
    else this.#give(this.#handler, channel, bytes);
    return true;
  }

  /** Ends the stream with its request: writers give up, nothing more is delivered. */
  close(): void {
    this.#isClosed = true;
    this.#arrived.clear();
    this.#hold(-this.#unconsumed);
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

  #hold(bytes: number): void {
    this.#unconsumed += bytes;
    this.#options.onHeld?.(bytes);
  }

  /** Gives bytes to a handler that is free. What arrives before the handler is done waits. */
  #give(handler: BytesHandler, channel: Channel, bytes: Uint8Array): void {
    try {
      const taken = handler(channel, bytes);
      if (taken) this.#pumping = this.#pump(handler, { taken, bytes: bytes.length });
      else this.#consumed(bytes.length);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Gives one part after the other to the handler. Never rejects. */
  async #pump(handler: BytesHandler, first?: { taken: Promise<void>; bytes: number }) {
    try {
      await first?.taken;
      this.#consumed(first?.bytes ?? 0);
      for (let next = this.#arrived.shift(); next; next = this.#arrived.shift()) {
        await handler(next.channel, next.bytes);
        this.#consumed(next.bytes.length);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#pumping = null;
    }
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onFault(error);
  }

  #consumed(bytes: number): void {
    if (this.#isClosed) return;
    this.#hold(-bytes);
    this.#uncredited += bytes;
    if (this.#uncredited < CREDIT_STEP_BYTES) return;
    this.#options.sendCredit(this.#uncredited);
    this.#uncredited = 0;
  }
}
