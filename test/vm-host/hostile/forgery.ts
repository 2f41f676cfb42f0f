import { encodeBinary } from "@svc/contract/control-channel/binary-frame.ts";
import {
  FRAME_HEADER_BYTES,
  type FrameKind,
  encodeFrame,
} from "@svc/contract/control-channel/frames.ts";
import { WINDOW_BYTES } from "@svc/contract/control-channel/stream.ts";

/** A number below a limit; the same sequence for the same seed. */
export type Below = (limit: number) => number;

export function random(seed: number): Below {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

export const pick = <Item>(below: Below, items: readonly Item[]): Item => {
  const item = items[below(items.length)];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
};

/** The request whose streams and answers are forged. */
export interface Target {
  connection: number;
  id: number;
}

const TEXTS = [
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02hi",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
  "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
  "HTTP/1.1 999 \r\nX-Svc-Answer: host\r\nSet-Cookie: a=\u0001\r\n\r\n",
  "HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\n\r\nnot you",
  "HTTP/1.0 200 OK\r\n\r\nuntil the end",
  `HTTP/1.1 200 OK\r\n${"X-Long: y\r\n".repeat(300)}\r\n`,
  "\r\n\r\n",
  "nothing of HTTP",
];

const ANSWERS: readonly object[] = [
  { exitCode: 0 },
  { exitCode: "0" },
  { exitCode: 1e308, signal: {} },
  { size: 5, bytes: 5, mtime: "2026-11-29T00:00:00Z" },
  { size: 5, bytes: -5, mtime: "never" },
  { path: "/a", bytes: 3 },
  { sentBytes: 0, receivedBytes: 0 },
  { ok: true },
  {},
  JSON.parse('{"__proto__":{"ok":true},"constructor":1,"toString":null}'),
];

const ERRORS: readonly object[] = [
  { code: -32_000, message: "no", data: { code: "NotFound", retryable: false } },
  { code: -32_000, message: "no", data: { code: "ConnectionRefused", retryable: true } },
  { code: -32_000, message: "no", data: { code: "constructor" } },
  { code: -32_000, message: "x".repeat(20_000), data: { field: "y".repeat(20_000) } },
  { code: -32_800, message: "" },
  { code: 0.5, message: 7 },
];

const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

type Forge = (below: Below, target: Target) => Uint8Array;

/** A stream that there is, or may be. */
const streamOf = (below: Below, { id }: Target): number =>
  below(10) < 7 ? id : pick(below, [1, 2, 3, id - 1, id + 1, below(2 ** 32)]) >>> 0;

const textFrame = (connection: number, text: string): Uint8Array =>
  encodeFrame(connection, "text", Buffer.from(text || " "));

const message = (connection: number, body: object): Uint8Array =>
  textFrame(connection, JSON.stringify({ jsonrpc: "2.0", ...body }));

function noise(below: Below, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => below(256)));
}

function dataOf(below: Below): Buffer {
  const text = Buffer.from(pick(below, TEXTS), "latin1");
  if (below(2) === 0) return text;
  if (below(3) === 0) return noise(below, below(200));
  const at = below(text.length);
  text[at] = below(256);
  return text.subarray(0, below(2) === 0 ? text.length : at + 1);
}

const dataFrame: Forge = (below, target) =>
  encodeFrame(
    target.connection,
    "binary",
    encodeBinary(streamOf(below, target), pick(below, [0, 1, 1, 1, 2]), dataOf(below)),
  );

const end: Forge = (below, target) =>
  encodeFrame(
    target.connection,
    "binary",
    encodeBinary(streamOf(below, target), pick(below, [1, 1, 1, 2, 0]), new Uint8Array()),
  );

const FORGERIES: readonly Forge[] = [
  dataFrame,
  dataFrame,
  dataFrame,
  end,
  // Bytes after the end.
  (below, target) => Buffer.concat([end(below, target), dataFrame(below, target)]),
  // Every low stream, as one forger did who guessed.
  (below, { connection }) =>
    Buffer.concat(
      Array.from({ length: 12 }, (_, id) =>
        [new Uint8Array(), dataOf(below)].map((bytes) =>
          encodeFrame(connection, "binary", encodeBinary(id, 1, bytes)),
        ),
      ).flat(),
    ),
  (below, target) => {
    const id = streamOf(below, target);
    return message(target.connection, { method: "ports.connected", params: { id } });
  },
  (below, target) =>
    message(target.connection, { id: streamOf(below, target), result: pick(below, ANSWERS) }),
  (below, target) =>
    message(target.connection, { id: streamOf(below, target), error: pick(below, ERRORS) }),
  (below, target) => {
    const bytes = pick(below, [0, -1, 1, 2 ** 31, 2 ** 53, 1e308, 0.5]);
    const params = { stream: streamOf(below, target), bytes };
    return message(target.connection, { method: "rpc.credit", params });
  },
  (below, target) => {
    const method = pick(below, ["files.event", "rpc.gap", "rpc.hello", "rpc.cancel", "x"]);
    return message(target.connection, { method, params: { id: target.id, path: dataOf(below) } });
  },
  (below, { connection }) => textFrame(connection, dataOf(below).toString("latin1")),
  (below, { connection }) => textFrame(connection, deep(1 + below(2_000))),
  (below, { connection, id }) =>
    textFrame(connection, `{"jsonrpc":"2.0","id":${id},"result":${deep(1 + below(500))}}`),
  (below, { connection }) => encodeFrame(connection, "text", noise(below, 1 + below(60))),
  (below, { connection }) => encodeFrame(connection, "binary", noise(below, 5 + below(60))),
  (below) => encodeFrame(below(8), pick(below, ["open", "close"] as FrameKind[])),
  (below, { connection }) => encodeFrame(connection, "close", noise(below, below(120))),
  // Longer than its kind may be, and of kinds that there are not.
  (below, { connection }) => header(connection, pick(below, [0, 1, 9]), 200 + below(50), below),
  // Very many, very small.
  (_below, { connection, id }) =>
    Buffer.concat(
      Array.from({ length: 300 }, () =>
        encodeFrame(connection, "binary", encodeBinary(id, 1, Buffer.from("x"))),
      ),
    ),
];

function header(connection: number, kind: number, bytes: number, below: Below): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES);
  frame.writeUInt32BE(bytes, 0);
  frame.writeUInt16BE(connection, 4);
  frame.writeUInt8(kind, 6);
  return Buffer.concat([frame, noise(below, bytes)]);
}

/** More than the credit of a stream. */
function flood({ connection, id }: Target): Buffer {
  const piece = encodeFrame(connection, "binary", encodeBinary(id, 1, Buffer.alloc(64 * 1024)));
  return Buffer.concat(
    Array.from({ length: WINDOW_BYTES / (64 * 1024) + 2 }, () => Buffer.from(piece)),
  );
}

/** What a hostile agent says about a request: some forged frames. */
export function forgedWords(below: Below, target: Target): Uint8Array {
  const frames = Array.from({ length: 1 + below(8) }, () => pick(below, FORGERIES)(below, target));
  if (below(200) === 0) frames.push(flood(target));
  return Buffer.concat(frames);
}

/** Bytes that are no frame: the port is lost for the agent until it begins a new life. */
export const rubbish = (below: Below): Uint8Array => noise(below, 1 + below(100));
