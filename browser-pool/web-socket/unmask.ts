const FEW_BYTES = 64;

/** Takes the mask of a client off, in place (RFC 6455, 5.3). `phase`: how many bytes of the frame came before. */
export function unmask(bytes: Buffer, mask: Buffer, phase: number): void {
  if (bytes.length < FEW_BYTES) return unmaskFew(bytes, mask, phase, 0, bytes.length);
  const start = (4 - (bytes.byteOffset & 3)) & 3;
  unmaskFew(bytes, mask, phase, 0, start);
  const key = Uint8Array.from([0, 1, 2, 3], (at) => mask[(phase + start + at) & 3] ?? 0);
  const word = new Uint32Array(key.buffer)[0] ?? 0;
  const words = new Uint32Array(
    bytes.buffer,
    bytes.byteOffset + start,
    (bytes.length - start) >>> 2,
  );
  for (let at = 0; at < words.length; at += 1) words[at] = (words[at] ?? 0) ^ word;
  unmaskFew(bytes, mask, phase, start + words.length * 4, bytes.length);
}

function unmaskFew(bytes: Buffer, mask: Buffer, phase: number, start: number, end: number): void {
  for (let at = start; at < end; at += 1)
    bytes[at] = (bytes[at] ?? 0) ^ (mask[(phase + at) & 3] ?? 0);
}
