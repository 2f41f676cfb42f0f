import { BINARY_FRAME_BYTES, BINARY_HEADER_BYTES } from "./binary-frame.ts";

/** `u32be payload length | u16be connection | u8 kind`: what stands before every payload (host protocol, Host <-> guest). */
export const FRAME_HEADER_BYTES = 7;

/** Longest payload of a frame: one JSON-RPC message, as on the customer's WebSocket. */
export const FRAME_PAYLOAD_BYTES = 1024 * 1024;

/** Connection 0 is for the host itself, on either port: always there, never opened nor closed. */
export const HOST_CONNECTION = 0;
/** The highest number of a connection. */
export const CONNECTION_MAX = 0xffff;

/** What a frame does: begins or ends a connection, carries a JSON-RPC text or the bytes of a stream. */
export const FRAME_KINDS = { open: 0, close: 1, text: 2, binary: 3 } as const;
/** The name of a frame's kind. */
export type FrameKind = keyof typeof FRAME_KINDS;

const KIND_NAMES: readonly FrameKind[] = ["open", "close", "text", "binary"];
const SHORTEST = { open: 0, close: 0, text: 1, binary: BINARY_HEADER_BYTES } as const;
const LONGEST = {
  open: 0,
  close: 125,
  text: FRAME_PAYLOAD_BYTES,
  binary: BINARY_FRAME_BYTES,
} as const;

/** The rule that a frame breaks. */
export type FrameFault = "length" | "kind";

/** Takes the frames of a decoder. */
export interface FrameSink {
  /** A whole frame. The payload may be a view of the chunk it came in. */
  frame(connection: number, kind: FrameKind, payload: Uint8Array): void;
  /** A frame with a payload of so many bytes broke a rule and is left out: its connection is to be closed, the port goes on. */
  fault(connection: number, fault: FrameFault, bytes: number): void;
}

/** The header of a frame, to be written right before its payload. */
export function frameHeader(connection: number, kind: FrameKind, bytes: number): Uint8Array {
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint32(0, bytes);
  view.setUint16(4, connection);
  view.setUint8(6, FRAME_KINDS[kind]);
  return header;
}

/** A frame in one piece. */
export function encodeFrame(
  connection: number,
  kind: FrameKind,
  payload: Uint8Array = new Uint8Array(),
): Uint8Array {
  const frame = new Uint8Array(FRAME_HEADER_BYTES + payload.length);
  frame.set(frameHeader(connection, kind, payload.length));
  frame.set(payload, FRAME_HEADER_BYTES);
  return frame;
}

/**
 * Takes a byte stream apart into frames. A payload that lies in one chunk is passed on as a view of it; only
 * one that crosses a chunk edge is copied, once. Memory held is one payload at most, whatever the other side sends.
 */
export class FrameDecoder {
  readonly #sink: FrameSink;
  readonly #hostTextBytes: number;
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  readonly #view = new DataView(this.#header.buffer);
  #headerBytes = 0;
  #kind: FrameKind = "open";
  #body: Uint8Array | null = null;
  #bodyBytes = 0;
  #skip = 0;

  /** `hostTextBytes`: longest text of connection 0. */
  constructor(sink: FrameSink, hostTextBytes: number = FRAME_PAYLOAD_BYTES) {
    this.#sink = sink;
    this.#hostTextBytes = hostTextBytes;
  }

  /** Whether everything pushed so far is whole frames. */
  get isAtBoundary(): boolean {
    return this.#headerBytes === 0 && this.#skip === 0;
  }

  /** Forgets a frame that has begun: what comes next is the start of one. */
  reset(): void {
    this.#headerBytes = 0;
    this.#body = null;
    this.#skip = 0;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#skip > 0) at = this.#skipBytes(chunk, at);
      else if (this.#body) at = this.#fill(this.#body, chunk, at);
      else at = this.#readHeader(chunk, at);
    }
  }

  get #connection(): number {
    return this.#view.getUint16(4);
  }

  #skipBytes(chunk: Uint8Array, at: number): number {
    const step = Math.min(this.#skip, chunk.length - at);
    this.#skip -= step;
    return at + step;
  }

  #readHeader(chunk: Uint8Array, at: number): number {
    const step = Math.min(FRAME_HEADER_BYTES - this.#headerBytes, chunk.length - at);
    this.#header.set(chunk.subarray(at, at + step), this.#headerBytes);
    this.#headerBytes += step;
    const next = at + step;
    return this.#headerBytes === FRAME_HEADER_BYTES ? this.#begin(chunk, next) : next;
  }

  #begin(chunk: Uint8Array, at: number): number {
    this.#headerBytes = 0;
    const bytes = this.#view.getUint32(0);
    const kind = KIND_NAMES[this.#view.getUint8(6)];
    if (kind === undefined || bytes < SHORTEST[kind] || bytes > this.#longest(kind)) {
      this.#skip = bytes;
      this.#sink.fault(this.#connection, kind === undefined ? "kind" : "length", bytes);
      return at;
    }
    if (chunk.length - at >= bytes) {
      this.#sink.frame(this.#connection, kind, chunk.subarray(at, at + bytes));
      return at + bytes;
    }
    this.#kind = kind;
    this.#body = new Uint8Array(bytes);
    this.#bodyBytes = 0;
    return at;
  }

  #longest(kind: FrameKind): number {
    return kind === "text" && this.#connection === HOST_CONNECTION
      ? this.#hostTextBytes
      : LONGEST[kind];
  }

  #fill(body: Uint8Array, chunk: Uint8Array, at: number): number {
    const step = Math.min(body.length - this.#bodyBytes, chunk.length - at);
    body.set(chunk.subarray(at, at + step), this.#bodyBytes);
    this.#bodyBytes += step;
    if (this.#bodyBytes === body.length) {
      this.#body = null;
      this.#sink.frame(this.#connection, this.#kind, body);
    }
    return at + step;
  }
}
