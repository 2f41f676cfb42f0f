import { isUtf8 } from "node:buffer";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { tooLongText } from "../cdp/message-ends.ts";
import { Utf8Check } from "../cdp/utf8-check.ts";
import { isCloseCode } from "./close-code.ts";
import { unmask } from "./unmask.ts";

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const CONTROL_BYTES = 125;
const { protocolBroken: PROTOCOL_ERROR, notUtf8: NOT_UTF8 } = CLOSE_CODES;

/** Hears what a client sends. After `onFault` and `onClose` nothing more is heard. */
export interface FrameHearer {
  /** A piece of a message. */
  piece: (bytes: Buffer) => void;
  /** The message is complete. */
  end: () => void;
  onPing: (payload: Buffer) => void;
  /** The client's close frame: its code, null when it named none. */
  onClose: (code: number | null) => void;
  /** The client broke the protocol: what the socket is closed with. */
  onFault: (code: number, reason: string) => void;
}

/**
 * Reads the frames of a client (RFC 6455, 5) from chunks: a payload is unmasked and passed on as it comes, whole messages
 * are never held. A message that is too long is a fault as soon as a header says so.
 */
export class FrameReader {
  readonly #hearer: FrameHearer;
  readonly #header = Buffer.alloc(14);
  #headerBytes = 0;
  #opcode = 0;
  #isFinal = false;
  #left = 0;
  #phase = 0;
  #inFrame = false;
  /** Of the message that has begun. */
  #messageBytes = 0;
  #inMessage = false;
  #utf8: Utf8Check | null = null;
  #control = Buffer.alloc(0);
  #isOver = false;

  constructor(hearer: FrameHearer) {
    this.#hearer = hearer;
  }

  /** Takes one header, or what a chunk has of one payload. Returns how many bytes that was. */
  take(chunk: Buffer): number {
    if (this.#isOver) return chunk.length;
    return this.#inFrame ? this.#takePayload(chunk) : this.#takeHeader(chunk);
  }

  #takeHeader(chunk: Buffer): number {
    for (let at = 0; at < chunk.length; at += 1) {
      this.#header[this.#headerBytes++] = chunk[at] ?? 0;
      if (this.#headerBytes < 2 || this.#headerBytes < headerLength(this.#header)) continue;
      this.#headerBytes = 0;
      const fault = this.#begin();
      if (fault) this.#fault(PROTOCOL_ERROR, fault);
      else if (!this.#isOver && this.#left === 0) this.#frameEnds();
      return at + 1;
    }
    return chunk.length;
  }

  /** Begins a frame; returns what is wrong with its header. */
  #begin(): string | null {
    const first = this.#header.readUInt8(0);
    this.#opcode = first & 0x0f;
    this.#isFinal = (first & 0x80) !== 0;
    this.#left = payloadLength(this.#header);
    this.#phase = 0;
    this.#inFrame = true;
    if ((first & 0x70) !== 0) return "A reserved bit is set.";
    if ((this.#header.readUInt8(1) & 0x80) === 0) return "A frame is not masked.";
    if (this.#opcode >= CLOSE) return this.#beginControl();
    if (this.#opcode > BINARY) return "The opcode of a frame is unknown.";
    if ((this.#opcode === CONTINUATION) !== this.#inMessage)
      return this.#inMessage
        ? "A message begins inside of another one."
        : "A frame continues no message.";
    if (this.#opcode !== CONTINUATION) this.#utf8 = this.#opcode === TEXT ? new Utf8Check() : null;
    this.#inMessage = true;
    this.#messageBytes += this.#left;
    if (this.#messageBytes > LIMITS.wireMessageBytes)
      this.#fault(CLOSE_CODES.messageTooLarge, tooLongText("The message"));
    return null;
  }

  #beginControl(): string | null {
    if (this.#opcode > PONG) return "The opcode of a frame is unknown.";
    if (!this.#isFinal) return "A control frame is fragmented.";
    return this.#left > CONTROL_BYTES ? "A control frame is longer than 125 bytes." : null;
  }

  #takePayload(chunk: Buffer): number {
    const piece = chunk.subarray(0, this.#left);
    const mask = this.#header.subarray(headerLength(this.#header) - 4);
    unmask(piece, mask, this.#phase);
    this.#phase = (this.#phase + piece.length) & 3;
    this.#left -= piece.length;
    if (this.#opcode >= CLOSE) this.#control = Buffer.concat([this.#control, piece]);
    else {
      this.#utf8?.push(piece);
      if (this.#utf8?.isGood === false) this.#fault(NOT_UTF8, "A text is not UTF-8.");
      else this.#hearer.piece(piece);
    }
    if (this.#left === 0 && !this.#isOver) this.#frameEnds();
    return piece.length;
  }

  #frameEnds(): void {
    this.#inFrame = false;
    if (this.#opcode >= CLOSE) {
      const payload = this.#control;
      this.#control = Buffer.alloc(0);
      this.#controlEnds(payload);
    } else if (this.#isFinal) this.#messageEnds();
  }

  #messageEnds(): void {
    this.#inMessage = false;
    this.#messageBytes = 0;
    if (this.#utf8?.isWhole === false) this.#fault(NOT_UTF8, "A text is not UTF-8.");
    else this.#hearer.end();
  }

  #controlEnds(payload: Buffer): void {
    if (this.#opcode === PING) this.#hearer.onPing(payload);
    if (this.#opcode !== CLOSE) return;
    const code = payload.length < 2 ? null : payload.readUInt16BE(0);
    if (payload.length === 1 || (code !== null && !isCloseCode(code)))
      this.#fault(PROTOCOL_ERROR, "A close frame has no valid code.");
    else if (!isUtf8(payload.subarray(2))) this.#fault(NOT_UTF8, "A text is not UTF-8.");
    else {
      this.#isOver = true;
      this.#hearer.onClose(code);
    }
  }

  #fault(code: number, reason: string): void {
    this.#isOver = true;
    this.#hearer.onFault(code, reason);
  }
}

function headerLength(header: Buffer): number {
  const second = header.readUInt8(1);
  const short = second & 0x7f;
  return 2 + (second & 0x80 ? 4 : 0) + (short === 126 ? 2 : short === 127 ? 8 : 0);
}

function payloadLength(header: Buffer): number {
  const short = header.readUInt8(1) & 0x7f;
  if (short < 126) return short;
  return short === 126 ? header.readUInt16BE(2) : Number(header.readBigUInt64BE(2));
}
