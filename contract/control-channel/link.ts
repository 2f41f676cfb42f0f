import { type ConnectionsOptions, LinkConnections } from "./link-connections.ts";
import { FrameDecoder } from "./frames.ts";
import { SyncScanner, answerTo } from "./sync-word.ts";
import type { Receiver, Wire } from "./wire.ts";

/** The options of a link. */
export interface LinkOptions extends ConnectionsOptions {
  /** The sync word of this life. */
  word: Uint8Array;
  /** Longest text of connection 0 that the other side may send: a longer one is a breach, and is neither kept nor parsed. */
  hostTextBytes?: number;
  /** The other side has begun a new life; everything before it is gone. Connection 0 is accepted next. */
  onCalled?: () => void;
}

/**
 * Many connections on one port of a machine. A life begins when a side writes the sync word (`sync`). The other side drops all
 * connections and half frames and answers with the complement of the word. The side that began may send at once; it
 * receives nothing before that answer.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #connections: LinkConnections;
  readonly #decoder: FrameDecoder;
  readonly #call: SyncScanner;
  /** Finds the answer to a sync word of this side; null when none is awaited. */
  #echo: SyncScanner | null = null;
  #isSynced = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#connections = new LinkConnections(options);
    this.#decoder = new FrameDecoder(this.#connections, options.hostTextBytes);
    this.#call = new SyncScanner(options.word);
  }

  /** Begins a life: writes the sync word. */
  sync(): void {
    this.#options.transport.write(this.#call.word);
    this.#echo = new SyncScanner(answerTo(this.#call.word));
    this.#isSynced = false;
    this.#connections.restart();
  }

  /** Sets the sync word of the next life. */
  useWord(word: Uint8Array): void {
    this.#call.use(word);
  }

  /** Opens a connection and returns its number (host only). Null when all numbers are in use. */
  open(receive: (connection: number, wire: Wire) => Receiver): number | null {
    return this.#connections.open(receive);
  }

  /** Closes a connection of this side; `reason` goes to the other side. */
  close(connection: number, reason: string): void {
    this.#connections.close(connection, reason);
  }

  /** Takes bytes that have arrived. The caller must not change them afterwards: payloads are views of them. */
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

  /** Ends every connection: the transport is gone. */
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
