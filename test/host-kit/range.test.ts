import { partOf } from "@svc/host-kit/range.ts";
import { expect, test } from "vitest";

const WHOLE = { isWhole: true, offset: 0, length: 10 };
const part = (offset: number, length: number) => ({ isWhole: false, offset, length });

test.each([
  [undefined, WHOLE],
  ["bytes=0-", part(0, 10)],
  ["bytes=0-0", part(0, 1)],
  ["bytes=3-5", part(3, 3)],
  ["bytes=9-", part(9, 1)],
  ["bytes=9-999999999999999999999999", part(9, 1)],
  ["bytes=-1", part(9, 1)],
  ["bytes=-10", part(0, 10)],
  ["bytes=-11", part(0, 10)],
  ["Bytes=1-2", part(1, 2)],
  ["bytes=10-", null],
  ["bytes=10-20", null],
  ["bytes=999999999999999999999999-", null],
  ["bytes=-0", null],
  ["bytes=5-2", WHOLE],
  ["bytes=-", WHOLE],
  ["bytes=", WHOLE],
  ["bytes", WHOLE],
  ["", WHOLE],
  ["bytes=0-1,3-4", WHOLE],
  ["bytes=0-1,", WHOLE],
  ["bytes= 0-1", WHOLE],
  ["bytes=0 -1", WHOLE],
  ["bytes=a-b", WHOLE],
  ["bytes=1.5-2", WHOLE],
  ["bytes=-1-2", WHOLE],
  ["bytes=+1-2", WHOLE],
  ["items=0-1", WHOLE],
])("of ten bytes, %j asks for %j", (range, wanted) => {
  expect(partOf(range, 10)).toEqual(wanted);
});

test.each([undefined, "bytes=0-", "bytes=-5", "bytes=0-0", "bytes=-0"])(
  "an empty file is answered whole, also to %j",
  (range) => {
    expect(partOf(range, 0)).toEqual({ isWhole: true, offset: 0, length: 0 });
  },
);
