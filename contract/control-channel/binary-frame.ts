/** The header of a binary message, in bytes: `u32be stream | u8 channel` (control-channel.md, Framing). */
export const BINARY_HEADER_BYTES = 5;

/** Most bytes of a stream in one message. */
export const BINARY_PAYLOAD_BYTES = 64 * 1024;
/** Longest binary message, header included. */
export const BINARY_FRAME_BYTES = BINARY_HEADER_BYTES + BINARY_PAYLOAD_BYTES;

/** The channels of a stream. */
export const CHANNELS = {
  /** From the client to the guest: stdin, upload. */
  input: 0,
  /** stdout, or the data itself. */
  output: 1,
  stderr: 2,
  /** Large parts of the results of `code.run`, one after the other. */
  parts: 3,
} as const;
/** The number of a channel. */
export type Channel = (typeof CHANNELS)[keyof typeof CHANNELS];

/** A binary message, taken apart. */
export interface BinaryFrame {
  /** The id of the request that opened the stream. */
  stream: number;
  channel: Channel;
  /** A view of the message. Empty: the end of this channel. */
  payload: Uint8Array;
}

/** A binary message of the control channel. */
export function encodeBinary(stream: number, channel: Channel, payload: Uint8Array): Uint8Array {
  const message = new Uint8Array(BINARY_HEADER_BYTES + payload.length);
  const view = new DataView(message.buffer);
  view.setUint32(0, stream);
  view.setUint8(4, channel);
  message.set(payload, BINARY_HEADER_BYTES);
  return message;
}

/** Takes a binary message apart; null when it breaks the format. */
export function parseBinary(message: Uint8Array): BinaryFrame | null {
  if (message.length < BINARY_HEADER_BYTES || message.length > BINARY_FRAME_BYTES) return null;
  const view = new DataView(message.buffer, message.byteOffset, message.length);
  const channel = view.getUint8(4);
  if (channel !== 0 && channel !== 1 && channel !== 2 && channel !== 3) return null;
  return { stream: view.getUint32(0), channel, payload: message.subarray(BINARY_HEADER_BYTES) };
}
