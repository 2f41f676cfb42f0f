import { LinkConnections } from "./link-connections.ts";
import { FrameDecoder } from "./frames.ts";
import { SyncScanner, answerTo } from "./sync-word.ts";
import type { Receiver, Wire } from "./wire.ts";

/** The byte stream under a link: a port of a machine. */
export interface Transport {
  write(bytes: Uint8Array): void;
  /** A promise while it is full; null when it takes more. */
  whenWritable(): Promise<void> | null;
}

export interface LinkOptions {
  transport: Transport;
  /** The sync word of this life. */
  word: Uint8Array;
  /** A connection begins: connection 0 in every life, others when the host opens them. */
  accept: (connection: number, wire: Wire) => Receiver;
  /** Whether this side is the guest: only the host opens connections. */
  isGuest: boolean;
  /** The other side has begun a new life; everything before it is gone. Connection 0 is accepted next. */
  onCalled?: () => void;
}

/**
 * Many connections on one port. A life begins when a side writes the sync word (`sync`); the other drops all
 * connections and half frames and answers with the word's complement. Whoever has called may send at once; it hears nothing
 * before that answer.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #connections: LinkConnections;
  readonly #decoder: FrameDecoder;
  readonly #call: SyncScanner;
  /** Looks for the answer while there is none yet. */
  #echo: SyncScanner | null = null;
  #isSynced = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    const { transport, accept, isGuest } = options;
    this.#connections = new LinkConnections({ transport, accept, isGuest });
    this.#decoder = new FrameDecoder(this.#connections);
    this.#call = new SyncScanner(options.word);
  }

  /** Begins a life. */
  sync(): void {
    this.#options.transport.write(this.#call.word);
    this.#echo = new SyncScanner(answerTo(this.#call.word));
    this.#isSynced = false;
    this.#connections.restart();
  }

  /** The word of the next life. */
  useWord(word: Uint8Array): void {
    this.#call.use(word);
  }

  /** Opens a connection (host). Null when all are in use. */
  open(receive: (connection: number, wire: Wire) => Receiver): number | null {
    return this.#connections.open(receive);
  }

  /** Closes a connection. */
  close(connection: number, reason: string): void {
    this.#connections.close(connection, reason);
  }

  /** Bytes have arrived. They must not be changed afterwards: payloads are views of them. */
  receive(chunk: Uint8Array): void {
    const echoed = this.#echo?.push(chunk) ?? -1;
    const called = this.#call.push(chunk);
    const from = Math.max(echoed, called);
    if (from >= 0) {
      this.#isSynced = true;
      this.#decoder.reset();
    }
    // Not for a call: when both sides have called, the answer comes behind it.
    if (echoed >= 0) this.#echo = null;
    if (called >= 0) this.#called();
    if (this.#isSynced) this.#decoder.push(from > 0 ? chunk.subarray(from) : chunk);
  }

  /** The transport is gone. */
  closed(reason: string): void {
    this.#isSynced = false;
    this.#decoder.reset();
    this.#connections.end(reason);
  }

  #called(): void {
    this.#connections.end("a new life of the port began");
    this.#options.transport.write(answerTo(this.#call.word));
    this.#options.onCalled?.();
    this.#connections.restart();
  }
}
