import { describe, expect, test } from "vitest";
import {
  keyEvent,
  pointerEvent,
  setDesktopSize,
  setEncodings,
  updateRequest,
} from "../../../vm-host/screen/messages.ts";
import { ViewerFault, ViewerFilter } from "../../../vm-host/screen/viewer-filter.ts";

const GREETING = Buffer.concat([Buffer.from("RFB 003.008\n"), Buffer.from([1, 1])]);
const SIZE = { width: 800, height: 600 };
const PICTURES = [setEncodings([0, -239]), updateRequest(SIZE, true)];
const cutText = (text: string, length = text.length): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt8(6, 0);
  head.writeInt32BE(length, 4);
  return Buffer.concat([head, Buffer.from(text)]);
};
const fence = Buffer.from([248, 0, 0, 0, 0x80, 0, 0, 0, 3, 1, 2, 3]);
const qemuKey = Buffer.from([255, 0, 0, 1, 0, 0, 0, 97, 0, 0, 0, 30]);
const INPUT = [
  keyEvent(97, true),
  pointerEvent(1, 2, 1),
  cutText("paste"),
  cutText("\0\0\0\u0001", -4),
  setDesktopSize(SIZE),
  qemuKey,
  Buffer.from([250, 0, 1, 2]),
];

/** What a screen gets of what a viewer says, in pieces of a size. */
function passed(said: Buffer[], isViewOnly: boolean, pieceBytes: number): Buffer {
  const filter = new ViewerFilter(isViewOnly);
  const all = Buffer.concat(said);
  const got: Buffer[] = [];
  for (let at = 0; at < all.length; at += pieceBytes)
    got.push(filter.take(all.subarray(at, at + pieceBytes)));
  return Buffer.concat(got);
}

describe.each([1, 7, 4096])("a viewer's messages in pieces of %i bytes", (pieceBytes) => {
  test("all reach the screen", () => {
    const said = [GREETING, ...PICTURES, ...INPUT, fence];
    expect(passed(said, false, pieceBytes).equals(Buffer.concat(said))).toBe(true);
  });

  test("reach it without any input where the viewer only watches", () => {
    const mixed = INPUT.flatMap((input) => [input, fence, ...PICTURES]);
    const pictures = INPUT.flatMap(() => [fence, ...PICTURES]);
    const got = passed([GREETING, ...mixed], true, pieceBytes);
    expect(got.equals(Buffer.concat([GREETING, ...pictures]))).toBe(true);
  });
});

test("a viewer that wants the screen for itself shares it", () => {
  const alone = Buffer.concat([GREETING.subarray(0, 13), Buffer.from([0])]);
  expect(passed([alone], false, 5).equals(GREETING)).toBe(true);
});

test("a viewer of RFB 3.3 says nothing of security", () => {
  const old = Buffer.concat([Buffer.from("RFB 003.003\n"), Buffer.from([1])]);
  expect(passed([old, keyEvent(1, true)], true, 3).equals(old)).toBe(true);
});

test("a size beyond the largest is not passed on", () => {
  const huge = setDesktopSize({ width: 16_384, height: 16_384 });
  const got = passed([GREETING, huge, ...PICTURES], false, 9);
  expect(got.equals(Buffer.concat([GREETING, ...PICTURES]))).toBe(true);
});

test.each([
  ["another protocol", Buffer.from("GET / HTTP/1.1\r\n")],
  ["another security", Buffer.from("RFB 003.008\n\u0013")],
  ["an unknown message", Buffer.concat([GREETING, Buffer.from([99])])],
  ["sound", Buffer.concat([GREETING, Buffer.from([255, 1])])],
])("%s ends the viewer", (_name, said) => {
  expect(() => new ViewerFilter(false).take(said)).toThrow(ViewerFault);
});
