/** The messages of RFB 3.8 (RFC 6143) that a client of ours sends, and the numbers in those of a screen. */

export interface Size {
  width: number;
  height: number;
}

export const VERSION = Buffer.from("RFB 003.008\n");

/** Anyone who reaches the port may use the screen: only the machine and its host do. */
export const SECURITY_NONE = 1;

/** What a client says, by the first byte of a message. */
export const FROM_CLIENT = {
  setPixelFormat: 0,
  setEncodings: 2,
  updateRequest: 3,
  key: 4,
  pointer: 5,
  cutText: 6,
  continuousUpdates: 150,
  fence: 248,
  xvp: 250,
  setDesktopSize: 251,
  qemu: 255,
} as const;

/** What a screen says. */
export const FROM_SCREEN = { update: 0, colourMap: 1, bell: 2, cutText: 3 } as const;

/** What a client of ours asks for. A pointer is none of it: the screen draws the pointer itself then. */
export const ENCODINGS = { raw: 0, desktopSize: -223, extendedDesktopSize: -308 } as const;

/** Bytes of a pixel, as `PIXEL_FORMAT` has it. */
export const PIXEL_BYTES = 4;

/** Red, green, blue, and one byte of nothing. */
export const PIXEL_FORMAT = Buffer.from([
  FROM_CLIENT.setPixelFormat,
  0,
  0,
  0,
  32,
  24,
  0,
  1,
  0,
  255,
  0,
  255,
  0,
  255,
  0,
  8,
  16,
  0,
  0,
  0,
]);

/** Which encodings the screen may use. */
export function setEncodings(encodings: readonly number[]): Buffer {
  const message = Buffer.alloc(4 + 4 * encodings.length);
  message.writeUInt8(FROM_CLIENT.setEncodings, 0);
  message.writeUInt16BE(encodings.length, 2);
  for (const [at, encoding] of encodings.entries()) message.writeInt32BE(encoding, 4 + 4 * at);
  return message;
}

/** Asks for the whole screen; incremental: for what has changed. */
export function updateRequest({ width, height }: Size, isIncremental: boolean): Buffer {
  const message = Buffer.alloc(10);
  message.writeUInt8(FROM_CLIENT.updateRequest, 0);
  message.writeUInt8(isIncremental ? 1 : 0, 1);
  message.writeUInt16BE(width, 6);
  message.writeUInt16BE(height, 8);
  return message;
}

/** Makes the screen another size, as one display. */
export function setDesktopSize({ width, height }: Size): Buffer {
  const message = Buffer.alloc(24);
  message.writeUInt8(FROM_CLIENT.setDesktopSize, 0);
  message.writeUInt16BE(width, 2);
  message.writeUInt16BE(height, 4);
  message.writeUInt8(1, 6);
  message.writeUInt16BE(width, 16);
  message.writeUInt16BE(height, 18);
  return message;
}

export function keyEvent(keysym: number, isDown: boolean): Buffer {
  const message = Buffer.alloc(8);
  message.writeUInt8(FROM_CLIENT.key, 0);
  message.writeUInt8(isDown ? 1 : 0, 1);
  message.writeUInt32BE(keysym, 4);
  return message;
}

/** Where the pointer is, and which buttons are down: bit 0 is the left one. */
export function pointerEvent(x: number, y: number, buttons: number): Buffer {
  const message = Buffer.alloc(6);
  message.writeUInt8(FROM_CLIENT.pointer, 0);
  message.writeUInt8(buttons, 1);
  message.writeUInt16BE(x, 2);
  message.writeUInt16BE(y, 4);
  return message;
}
