import { encodeBinary, parseBinary } from "@svc/contract/control-channel/binary-frame.ts";
import {
  FRAME_KINDS,
  FRAME_PAYLOAD_BYTES,
  FrameDecoder,
  type FrameKind,
  encodeFrame,
  frameHeader,
} from "@svc/contract/control-channel/frames.ts";
import { FIRST_SYNC_WORD, SyncScanner } from "@svc/contract/control-channel/sync-word.ts";
import { describe, expect, test } from "vitest";

interface Seen {
  connection: number;
  kind: FrameKind;
  payload: string;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

function decoder() {
  const frames: Seen[] = [];
  const faults: [number, string][] = [];
  const decode = new FrameDecoder({
    frame: (connection, kind, payload) =>
      frames.push({ connection, kind, payload: hex(payload.slice()) }),
    fault: (connection, fault) => faults.push([connection, fault]),
  });
  return { decode, frames, faults };
}

/** Chance that is the same in every run. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function pushCut(decode: FrameDecoder, stream: Uint8Array, size: () => number): void {
  for (let at = 0; at < stream.length;) {
    const end = at + size();
    decode.push(stream.subarray(at, end));
    at = end;
  }
}

const SAMPLES: [number, FrameKind, number][] = [
  [1, "open", 0],
  [1, "text", 1],
  [0xffff, "binary", 5],
  [0, "binary", 65_541],
  [2, "text", FRAME_PAYLOAD_BYTES],
  [1, "close", 125],
  [1, "close", 0],
];

test.each([1, 2, 3, 7, 1_000, 65_536, 10_000_000])(
  "frames come out whole and in order from chunks of %d bytes",
  (size) => {
    const { decode, frames, faults } = decoder();
    const payloads = SAMPLES.map(([, , bytes]) => new Uint8Array(bytes).fill(bytes & 0xff));
    const stream = Buffer.concat(
      SAMPLES.map(([connection, kind], at) => encodeFrame(connection, kind, payloads[at])),
    );
    pushCut(decode, stream, () => size);
    expect(faults).toEqual([]);
    expect(decode.isAtBoundary).toBe(true);
    expect(frames.map(({ connection, kind }) => [connection, kind])).toEqual(
      SAMPLES.map(([connection, kind]) => [connection, kind]),
    );
    expect(frames.every(({ payload }, at) => payload === hex(payloads[at] ?? stream))).toBe(true);
  },
);

test("a text of connection 0 has a bound of its own, and is never kept", () => {
  const seen: string[] = [];
  const decode = new FrameDecoder(
    {
      frame: (connection, kind) => seen.push(`${kind} of ${connection}`),
      fault: (connection, fault) => seen.push(`${fault} of ${connection}`),
    },
    1_000,
  );
  for (const connection of [0, 1])
    decode.push(encodeFrame(connection, "text", new Uint8Array(1_001)));
  decode.push(encodeFrame(0, "text", new Uint8Array(1_000)));
  expect(seen).toEqual(["length of 0", "text of 1", "text of 0"]);
});

test("a payload that lies in one chunk is not copied", () => {
  const stream = encodeFrame(3, "text", new Uint8Array(100).fill(7));
  let view: Uint8Array | null = null;
  const decode = new FrameDecoder({
    frame: (_connection, _kind, payload) => (view = payload),
    fault: () => {},
  });
  decode.push(stream);
  expect(view).toMatchObject({ buffer: stream.buffer, byteOffset: 7 });
});

test.each([
  ["a text above 1 MiB", "text", FRAME_PAYLOAD_BYTES + 1, "length"],
  ["an empty text", "text", 0, "length"],
  ["a binary frame without its header", "binary", 4, "length"],
  ["a binary frame above 64 KiB", "binary", 65_542, "length"],
  ["an open with a payload", "open", 1, "length"],
  ["a close with a long reason", "close", 126, "length"],
] as const)(
  "%s is a fault of its connection, and the port goes on",
  (_name, kind, bytes, fault) => {
    const { decode, frames, faults } = decoder();
    decode.push(frameHeader(9, kind, bytes));
    decode.push(new Uint8Array(bytes));
    decode.push(encodeFrame(4, "text", Buffer.from("{}")));
    expect(faults).toEqual([[9, fault]]);
    expect(frames).toEqual([{ connection: 4, kind: "text", payload: hex(Buffer.from("{}")) }]);
  },
);

test("an unknown kind is a fault of its connection, whatever its length", () => {
  for (const kind of [4, 9, 255]) {
    const { decode, frames, faults } = decoder();
    const header = frameHeader(5, "open", 3);
    header[6] = kind;
    decode.push(header);
    decode.push(Buffer.concat([Buffer.alloc(3, 255), encodeFrame(4, "open")]));
    expect(faults).toEqual([[5, "kind"]]);
    expect(frames).toHaveLength(1);
  }
});

test("a length of 4 GiB holds no memory", () => {
  const { decode, faults } = decoder();
  decode.push(frameHeader(1, "text", 0xffff_ffff));
  const before = process.memoryUsage().arrayBuffers;
  const chunk = new Uint8Array(65_536);
  for (let count = 0; count < 1_000; count += 1) decode.push(chunk);
  expect(faults).toEqual([[1, "length"]]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
});

describe("forged frames", () => {
  test.each(Array.from({ length: 15 }, (_, seed) => seed))(
    "seed %d: every good frame among them arrives, every bad one is a fault, nothing throws",
    (seed) => {
      const pick = chance(seed + 1);
      const { decode, frames, faults } = decoder();
      const kinds = Object.keys(FRAME_KINDS);
      const good: Seen[] = [];
      let bad = 0;
      const parts = Array.from({ length: 200 }, () => {
        const bytes = pick(5) === 0 ? pick(200_000) : pick(300);
        const body = new Uint8Array(bytes).map(() => pick(256));
        const header = frameHeader(pick(65_536), "text", bytes);
        const kind = pick(6);
        header[6] = kind;
        const connection = Buffer.from(header).readUInt16BE(4);
        const fits = [bytes === 0, bytes <= 125, bytes >= 1, bytes >= 5 && bytes <= 65_541][kind];
        const name = kinds[kind];
        if (fits && name) good.push({ connection, kind: name as FrameKind, payload: hex(body) });
        else bad += 1;
        return Buffer.concat([header, body]);
      });
      pushCut(decode, Buffer.concat(parts), () => 1 + pick(30_000));
      expect(frames).toEqual(good);
      expect(faults).toHaveLength(bad);
      expect(decode.isAtBoundary).toBe(true);
    },
  );

  test("pure noise never throws and never holds more than one payload", () => {
    const pick = chance(77);
    const { decode, frames } = decoder();
    for (let count = 0; count < 500; count += 1)
      decode.push(new Uint8Array(pick(4_000)).map(() => pick(256)));
    decode.reset();
    const before = frames.length;
    decode.push(encodeFrame(1, "open"));
    expect(frames.slice(before)).toEqual([{ connection: 1, kind: "open", payload: "" }]);
  });
});

describe("binary messages", () => {
  test("stream, channel and bytes survive", () => {
    const parsed = parseBinary(encodeBinary(0xffff_fffe, 2, Buffer.from([0, 255])));
    expect(parsed).toMatchObject({ stream: 0xffff_fffe, channel: 2 });
    expect([...(parsed?.payload ?? [])]).toEqual([0, 255]);
  });

  test.each([
    ["too short", new Uint8Array(4)],
    ["too long", new Uint8Array(65_542)],
    ["on an unknown channel", Uint8Array.of(0, 0, 0, 1, 4)],
  ])("one that is %s is refused", (_name, message) => {
    expect(parseBinary(message)).toBeNull();
  });
});

describe("the sync word", () => {
  test.each([1, 5, 31, 32, 33, 64, 1_000])("is found in chunks of %d bytes", (size) => {
    for (let before = 0; before < 70; before += 1) {
      const scanner = new SyncScanner(FIRST_SYNC_WORD);
      // Half a word right before the whole one.
      const noise = Buffer.concat([Buffer.alloc(before, 1), FIRST_SYNC_WORD.subarray(0, 16)]);
      const stream = Buffer.concat([noise, FIRST_SYNC_WORD, Buffer.alloc(50, 2)]);
      const ends: number[] = [];
      for (let at = 0; at < stream.length; at += size) {
        const end = scanner.push(stream.subarray(at, at + size));
        if (end >= 0) ends.push(at + end);
      }
      expect(ends).toEqual([noise.length + FIRST_SYNC_WORD.length]);
    }
  });

  test("is not found in what only begins like it", () => {
    const scanner = new SyncScanner(FIRST_SYNC_WORD);
    for (let count = 0; count < 100; count += 1)
      expect(scanner.push(FIRST_SYNC_WORD.subarray(0, 31))).toBe(-1);
  });
});
