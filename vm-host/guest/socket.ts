import { Duplex } from "node:stream";
import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import type { PendingCall } from "@svc/contract/control-channel/rpc-calls.ts";
import type { CallOptions } from "@svc/contract/control-channel/rpc-client.ts";

/** A call whose bytes are a connection inside a guest, as a stream. */
export class GuestSocket extends Duplex {
  readonly callId: number;
  /** Resolves when the connection has ended in order. */
  readonly ended: Promise<unknown>;
  readonly #call: PendingCall<object>;
  readonly #abort = new AbortController();
  #wake: (() => void) | null = null;
  #hasEnded = false;

  constructor(call: (options: CallOptions) => PendingCall<object>) {
    // What the reader does not take stays in the stream of the call, where it is counted.
    super({ allowHalfOpen: true, readableHighWaterMark: 1 });
    // Also while nobody has it yet: an error that nobody hears would end the process.
    this.on("error", () => this.destroy());
    this.#call = call({
      onBytes: (channel, bytes) => this.#take(channel, bytes),
      signal: this.#abort.signal,
    });
    this.callId = this.#call.id;
    this.ended = this.#call.result;
    this.ended.then(
      () => this.#end(),
      (error: unknown) => this.destroy(error instanceof Error ? error : undefined),
    );
  }

  override _read(): void {
    this.#wake?.();
    this.#wake = null;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#call.stream.write(CHANNELS.input, chunk).then(
      (isOpen) => done(isOpen ? undefined : new Error("the connection is closed")),
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    );
  }

  override _final(done: () => void): void {
    this.#call.stream.end(CHANNELS.input);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#wake?.();
    this.#abort.abort();
    done(error);
  }

  /** As `net.Socket`: what speaks HTTP over it calls these. */
  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  // Credit goes back to the guest only when the reader here has room.
  #take(channel: number, bytes: Uint8Array): Promise<void> | void {
    if (channel !== CHANNELS.output || this.destroyed || this.#hasEnded) return;
    if (bytes.length === 0) return this.#end();
    if (this.push(Buffer.from(bytes))) return;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #end(): void {
    if (this.#hasEnded || this.destroyed) return;
    this.#hasEnded = true;
    this.push(null);
  }
}
