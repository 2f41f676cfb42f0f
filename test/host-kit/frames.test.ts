import { FrameScanner, closeFrame, shortReason } from "@svc/host-kit/frames.ts";
import { expect, test } from "vitest";

function frame(opcode: number, bytes: number, isMasked: boolean): Buffer {
  const short = bytes < 126 ? bytes : bytes < 65_536 ? 126 : 127;
  const length = Buffer.alloc(short === 126 ? 2 : short === 127 ? 8 : 0);
  if (short === 126) length.writeUInt16BE(bytes);
  if (short === 127) length.writeBigUInt64BE(BigInt(bytes));
  const head = Buffer.from([0x80 | opcode, (isMasked ? 0x80 : 0) | short]);
  // A payload full of bytes that look like a close frame's header.
  return Buffer.concat([
    head,
    length,
    Buffer.alloc(isMasked ? 4 : 0, 1),
    Buffer.alloc(bytes, 0x88),
  ]);
}

const SIZES = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000];

for (const isMasked of [false, true])
  for (const chunkBytes of [1, 2, 7, 1_024, 1_000_000])
    test(`frames are told apart in chunks of ${chunkBytes} bytes, masked: ${isMasked}`, () => {
      const stream = Buffer.concat(SIZES.map((bytes) => frame(1, bytes, isMasked)));
      const scanner = new FrameScanner();
      for (let at = 0; at < stream.length; at += chunkBytes)
        scanner.push(stream.subarray(at, at + chunkBytes));
      expect(scanner.sawClose).toBe(false);
      scanner.push(frame(8, 2, isMasked));
      expect(scanner.sawClose).toBe(true);
    });

test("a reason is cut to what a close frame holds, at a whole character", () => {
  const reason = "é".repeat(100);
  expect(shortReason(reason)).toBe("é".repeat(61));
  const bytes = closeFrame(4404, reason);
  expect(bytes.readUInt16BE(2)).toBe(4404);
  expect(bytes.length).toBe(4 + 122);
});
