const FINAL = 0x80;
const TEXT = 1;
const PONG = 10;

/** The header of a frame that holds a whole text of this length. */
export function textHeader(bytes: number): Buffer {
  if (bytes < 126) return Buffer.from([FINAL | TEXT, bytes]);
  const isLong = bytes > 0xffff;
  const header = Buffer.alloc(isLong ? 10 : 4);
  header.writeUInt8(FINAL | TEXT, 0);
  header.writeUInt8(isLong ? 127 : 126, 1);
  if (isLong) header.writeBigUInt64BE(BigInt(bytes), 2);
  else header.writeUInt16BE(bytes, 2);
  return header;
}

export function pongFrame(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([FINAL | PONG, payload.length]), payload]);
}
