import type { Duplex } from "node:stream";
import type { Size } from "../../../vm-host/screen/messages.ts";
import { u16 } from "./rfb-bytes.ts";

const greeting = ({ width, height }: Size): Buffer =>
  Buffer.concat([
    Buffer.from("RFB 003.008\n"),
    Buffer.from([1, 1, 0, 0, 0, 0]),
    u16(width, height),
    Buffer.alloc(20),
  ]);

/** An update of so many pixels, rows first. */
function update({ width, height }: Size, pixels: number): Buffer {
  const rows = Math.min(height, Math.floor(pixels / width));
  const boxes = [
    { y: 0, w: width, h: rows },
    { y: rows, w: pixels - rows * width, h: 1 },
  ].filter(({ w, h }) => w * h > 0);
  const parts = boxes.map(({ y, w, h }) =>
    Buffer.concat([u16(0, y, w, h), Buffer.alloc(4), Buffer.alloc(4 * w * h)]),
  );
  return Buffer.concat([Buffer.from([0, 0]), u16(parts.length), ...parts]);
}

/**
 * A screen that answers each question for what has changed with the next of its changes, and then never again. `onPointer`
 * hears which buttons are down whenever the pointer is told.
 */
export function fakeScreen(
  socket: Duplex,
  size: Size,
  changes: Iterable<number>,
  onPointer: (buttons: number) => void = () => {},
): void {
  const next = changes[Symbol.iterator]();
  let heard = Buffer.alloc(0);
  // The version, the security type, and that it is shared; then messages.
  let greeted = 14;
  socket.write(greeting(size));
  socket.on("data", (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk]);
    const skipped = Math.min(greeted, heard.length);
    greeted -= skipped;
    heard = heard.subarray(skipped);
    for (;;) {
      const length = lengthOf(heard);
      if (length === null || heard.length < length) return;
      const [type, isIncremental] = heard;
      if (type === 5) onPointer(heard.readUInt8(1));
      heard = heard.subarray(length);
      if (type !== 3) continue;
      if (isIncremental === 0) socket.write(update(size, size.width * size.height));
      else {
        const { value, done } = next.next();
        if (done !== true) socket.write(update(size, value));
      }
    }
  });
}

/** Of the messages that a client of ours sends: pixel format, encodings, a question for an update, a pointer. */
function lengthOf(heard: Buffer): number | null {
  if (heard.length < 4) return null;
  return { 0: 20, 2: 4 + 4 * heard.readUInt16BE(2), 3: 10, 5: 6 }[heard.readUInt8(0)] ?? null;
}
