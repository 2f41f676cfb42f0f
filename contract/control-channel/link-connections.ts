import {
  CONNECTION_MAX,
  type FrameFault,
  type FrameKind,
  type FrameSink,
  HOST_CONNECTION,
  encodeFrame,
  frameHeader,
} from "./frames.ts";
import type { Receiver, Transport, Wire } from "./wire.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const CLOSE_REASON_BYTES = 120;
/** Copied behind its header: one write of a port costs more. */
const SMALL_BYTES = 4 * 1024;

/** The options of a link that are about its connections. */
export interface ConnectionsOptions {
  transport: Transport;
  /** A connection begins: connection 0 in every life, others when the host opens them. */
  accept: (connection: number, wire: Wire) => Receiver;
  /** Whether this side is the guest: only the host opens connections. */
  isGuest: boolean;
  /** A connection was ended because the other side broke a rule, or because its receiver threw. */
  onBreach?: (connection: number, reason: string) => void;
  /** The other side sent so many bytes in a frame that breaks a rule, or for a connection that is not there. */
  onUnwanted?: (bytes: number) => void;
}

/** One life of a connection number: a wire kept past it does nothing to the next one. */
interface Entry {
  receiver: Receiver | null;
}

/** The connections of one port in its present life, by their numbers. */
export class LinkConnections implements FrameSink {
  readonly #options: ConnectionsOptions;
  readonly #entries = new Map<number, Entry>();
  #last = HOST_CONNECTION;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Drops every connection and begins again with connection 0. */
  restart(): void {
    this.end("a new life of the port began");
    this.#begin(HOST_CONNECTION, this.#options.accept);
  }

  /** Drops every connection; the other side is not told. */
  end(reason: string): void {
    const entries = [...this.#entries];
    this.#entries.clear();
    for (const [connection, { receiver }] of entries)
      this.#guarded(connection, () => receiver?.closed(reason));
  }

  /** Opens a connection and returns its number; null when all numbers are in use. */
  open(receive: ConnectionsOptions["accept"]): number | null {
    if (this.#entries.size > CONNECTION_MAX) return null;
    do this.#last = (this.#last % CONNECTION_MAX) + 1;
    while (this.#entries.has(this.#last));
    this.#send(this.#last, "open", new Uint8Array());
    this.#begin(this.#last, receive);
    return this.#last;
  }

  /** Ends a connection and tells the other side why. Connection 0 is never ended. */
  close(connection: number, reason: string): void {
    if (connection === HOST_CONNECTION || !this.#entries.has(connection)) return;
    this.#send(connection, "close", encoder.encode(reason).subarray(0, CLOSE_REASON_BYTES));
    this.#drop(connection, reason);
  }

  /** Takes a frame of the other side. */
  frame(connection: number, kind: FrameKind, payload: Uint8Array): void {
    switch (kind) {
      case "open":
        if (this.#options.isGuest && !this.#entries.has(connection))
          this.#begin(connection, this.#options.accept);
        else this.#refuse(connection, "a connection is opened once, by the host");
        break;
      case "close":
        this.#drop(connection, decoder.decode(payload) || "closed by the other side", true);
        break;
      case "text":
      case "binary":
        this.#deliver(connection, kind, payload);
        break;
    }
  }

  /** Takes a frame that breaks a rule: its connection is closed. */
  fault(connection: number, fault: FrameFault, bytes: number): void {
    this.#options.onUnwanted?.(bytes);
    this.#refuse(connection, `a frame has a forbidden ${fault}`);
  }

  #deliver(connection: number, kind: "text" | "binary", payload: Uint8Array): void {
    const receiver = this.#entries.get(connection)?.receiver;
    if (receiver) this.#guarded(connection, () => receiver[kind](payload));
    else this.#options.onUnwanted?.(payload.length);
  }

  /** Ends a connection whose receiver throws: nobody else's connection is part of it. */
  #guarded(connection: number, tell: () => void): void {
    try {
      tell();
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.#refuse(connection, `its receiver failed: ${words}`);
    }
  }

  /** Closes a connection that broke a rule. Connection 0 begins again, and a forger gets no answer for it. */
  #refuse(connection: number, reason: string): void {
    this.#options.onBreach?.(connection, reason);
    if (connection === HOST_CONNECTION) this.#drop(connection, reason);
    else this.close(connection, reason);
  }

  #begin(connection: number, accept: ConnectionsOptions["accept"]): void {
    const entry: Entry = { receiver: null };
    this.#entries.set(connection, entry);
    const isMine = () => this.#entries.get(connection) === entry;
    entry.receiver = accept(connection, {
      sendText: (text) => {
        if (isMine()) this.#send(connection, "text", encoder.encode(text));
      },
      sendBinary: (message) => {
        if (isMine()) this.#send(connection, "binary", message);
      },
      close: (reason) => {
        if (isMine()) this.#refuse(connection, reason);
      },
      whenWritable: () => this.#options.transport.whenWritable(),
    });
    if (!isMine()) entry.receiver.closed("closed at once");
  }

  #drop(connection: number, reason: string, byOther = false): void {
    const entry = this.#entries.get(connection);
    if (!entry) return;
    this.#entries.delete(connection);
    this.#guarded(connection, () => entry.receiver?.closed(reason, byOther));
    if (connection === HOST_CONNECTION) this.#begin(connection, this.#options.accept);
  }

  #send(connection: number, kind: FrameKind, payload: Uint8Array): void {
    const { transport } = this.#options;
    if (payload.length <= SMALL_BYTES) {
      transport.write(encodeFrame(connection, kind, payload));
      return;
    }
    transport.write(frameHeader(connection, kind, payload.length));
    transport.write(payload);
  }
}
