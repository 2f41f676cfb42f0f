const MARKER = 0xff;
const START_OF_IMAGE = 0xd8;
/** Segments that say how large the picture is (ITU T.81, table B.1): all frame headers, which DHT, JPG and DAC are not. */
const isFrameHeader = (code: number): boolean =>
  code >= 0xc0 && code <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(code);

/** Width and height of a JPEG in pixels; null when it does not say. */
export function jpegSize(bytes: Buffer): { w: number; h: number } | null {
  if (bytes.length < 4 || bytes[0] !== MARKER || bytes[1] !== START_OF_IMAGE) return null;
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === MARKER) {
    if (isFrameHeader(bytes[at + 1] ?? 0))
      return { h: bytes.readUInt16BE(at + 5), w: bytes.readUInt16BE(at + 7) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}
