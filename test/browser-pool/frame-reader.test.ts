import { describe, expect, test } from "vitest";
import { FrameReader } from "../../browser-pool/web-socket/frame-reader.ts";
import { MemberScanner } from "../../browser-pool/cdp/member-scanner.ts";

const MASK = Buffer.from([0x12, 0x34, 0x56, 0x78]);

function frame(first: number, payload: Buffer, isMasked = true): Buffer {
  const length = payload.length;
  const short = length < 126 ? length : length <= 0xffff ? 126 : 127;
  const extended = Buffer.alloc(short === 126 ? 2 : short === 127 ? 8 : 0);
  if (short === 126) extended.writeUInt16BE(length);
  if (short === 127) extended.writeBigUInt64BE(BigInt(length));
  const body = isMasked ? payload.map((byte, at) => byte ^ (MASK[at & 3] ?? 0)) : payload;
  const head = Buffer.from([first, short | (isMasked ? 0x80 : 0)]);
  return Buffer.concat([head, extended, isMasked ? MASK : Buffer.alloc(0), body]);
}

/** What is heard of these bytes when they come in chunks of a length. */
function heard(bytes: Buffer, chunkBytes: number): unknown[] {
  const events: unknown[] = [];
  let pieces: Buffer[] = [];
  const reader = new FrameReader({
    piece: (piece) => void pieces.push(Buffer.from(piece)),
    end: () => {
      events.push(Buffer.concat(pieces).toString());
      pieces = [];
    },
    onPing: (payload) => void events.push({ ping: String(payload) }),
    onClose: (code) => void events.push({ closed: code }),
    onFault: (code) => void events.push({ fault: code }),
  });
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    let chunk = Buffer.from(bytes.subarray(at, at + chunkBytes));
    while (chunk.length > 0) chunk = chunk.subarray(reader.take(chunk));
  }
  return events;
}

const text = (value: string) => Buffer.from(value);
const long = "ä€𝄞 ".repeat(20_000);
const CASES: [string, Buffer, unknown[]][] = [
  ["a text", frame(0x81, text("hello")), ["hello"]],
  ["an empty text", frame(0x81, text("")), [""]],
  ["a long text", frame(0x81, text(long)), [long]],
  [
    "fragments with a ping between them",
    Buffer.concat([
      frame(0x01, text("a")),
      frame(0x89, text("p")),
      frame(0x00, text("b")),
      frame(0x80, text("c")),
    ]),
    [{ ping: "p" }, "abc"],
  ],
  ["a goodbye", frame(0x88, Buffer.from([0x03, 0xe8])), [{ closed: 1000 }]],
  ["a goodbye without a code", frame(0x88, text("")), [{ closed: null }]],
  ["a goodbye of one byte", frame(0x88, text("x")), [{ fault: 1002 }]],
  ["a goodbye with a reserved code", frame(0x88, Buffer.from([0x03, 0xed])), [{ fault: 1002 }]],
  ["no mask", frame(0x81, text("hello"), false), [{ fault: 1002 }]],
  ["a reserved bit", frame(0xc1, text("hello")), [{ fault: 1002 }]],
  ["an unknown opcode", frame(0x83, text("hello")), [{ fault: 1002 }]],
  ["a fragmented ping", frame(0x09, text("p")), [{ fault: 1002 }]],
  ["a long ping", frame(0x89, text("p".repeat(126))), [{ fault: 1002 }]],
  ["a continuation of nothing", frame(0x80, text("x")), [{ fault: 1002 }]],
  [
    "a message inside of a message",
    Buffer.concat([frame(0x01, text("a")), frame(0x81, text("b"))]),
    [{ fault: 1002 }],
  ],
  ["a text that is not UTF-8", frame(0x81, Buffer.from([0x61, 0xff])), [{ fault: 1007 }]],
  ["a text that ends in a character", frame(0x81, Buffer.from([0xe2, 0x82])), [{ fault: 1007 }]],
  [
    "a header that declares more than 96 MiB",
    Buffer.from([0x81, 0xff, 0, 0, 0, 0, 6, 0, 0, 1, 0, 0, 0, 0]),
    [{ fault: 4413 }],
  ],
];

describe("frames of a client", () => {
  test.each(CASES)("%s", (_name, bytes, events) => {
    for (const chunkBytes of [1, 3, 64 * 1024]) expect(heard(bytes, chunkBytes)).toEqual(events);
  });
});

describe("the scanner of members takes what is JSON to every reader", () => {
  const isWhole = (json: string, chunkBytes: number): boolean => {
    const scanner = new MemberScanner();
    const bytes = Buffer.from(json);
    for (let at = 0; at < bytes.length; at += chunkBytes)
      scanner.push(bytes.subarray(at, at + chunkBytes));
    return scanner.isWhole;
  };
  const GOOD = [
    "{}",
    ' { "a" : [1,2,{"b":"x\\"}"}] , "c":-0.5e-3 } ',
    '{"a":1.7976931348623157e308,"b":0,"c":[0,true,false,null]}',
    `{"a":"${"x".repeat(500)}\\n${"y".repeat(100)}"}`,
    `{"a":${"[".repeat(299)}${"]".repeat(299)}}`,
  ];
  const BAD = [
    ..."[1]|{|{,}|{'a':1}|{a:1}".split("|"),
    ...'{"a":}|{"a":1}}|{"a":1,}|{"a" 1}|{"a":01}|{"a":1.}|{"a":1e999}|{"a":+1}|{"a":/*"*/1}'.split(
      "|",
    ),
    ...'{"a":"\\q"}|{"a":"\\u00g0"}|{"a":tru}|{"a":[1}|{"a":{]}|{"a":"x}|{"a":[,]}|{"a":1}{"b":2}'.split(
      "|",
    ),
    '{"a":"\0"}',
    '\ufeff{"a":1}',
    `{"a":${"[".repeat(300)}${"]".repeat(300)}}`,
  ];
  test.each(GOOD)("%s", (json) => {
    for (const chunkBytes of [1, 7, 1000]) expect(isWhole(json, chunkBytes)).toBe(true);
  });
  test.each(BAD)("not %s", (json) => {
    for (const chunkBytes of [1, 7, 1000]) expect(isWhole(json, chunkBytes)).toBe(false);
  });
});
