/** One connection of the control channel, whatever carries it: a WebSocket, or frames on a port of a machine. */
export interface Wire {
  sendText(text: string): void;
  sendBinary(message: Uint8Array): void;
  /** Ends the connection because the other side broke a rule. */
  close(reason: string): void;
  /** A promise while the transport is full; null when it takes more. */
  whenWritable(): Promise<void> | null;
}

/** The byte stream under a link: a port of a machine. */
export interface Transport {
  write(bytes: Uint8Array): void;
  /** A promise while it is full; null when it takes more. */
  whenWritable(): Promise<void> | null;
}

/** What a connection delivers to. Payloads may be views of a larger buffer. */
export interface Receiver {
  text(payload: Uint8Array): void;
  binary(message: Uint8Array): void;
  /** Called once; nothing is delivered after it. `byOther`: the other side has closed this connection alone. */
  closed(reason: string, byOther?: boolean): void;
}
