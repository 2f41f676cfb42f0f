import { encodeBinary } from "@svc/contract/control-channel/binary-frame.ts";
import { encodeFrame } from "@svc/contract/control-channel/frames.ts";

const MIB = 1024 * 1024;
const LOW_STREAMS = 12;

const text = (body: string): Buffer => Buffer.from(encodeFrame(0, "text", Buffer.from(body)));
const bytes = (stream: number, payload: Uint8Array): Buffer =>
  Buffer.from(encodeFrame(0, "binary", encodeBinary(stream, 1, payload)));
const many = (count: number, make: (at: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => make(at)));
const ended = (stream: number): Buffer =>
  Buffer.concat([bytes(stream, Buffer.alloc(0)), bytes(stream, Buffer.from("more"))]);

/** Bytes that a hostile guest writes again and again to the ports of its agent, by the names that the tables show; null: the guest only spins. */
export const WORDS: Record<string, Buffer | null> = {
  "nothing, and spins": null,
  "bytes after the end of low streams": many(400, (at) => ended(at % LOW_STREAMS)),
  "64 KiB for streams that nobody asked for": many(16, (at) => bytes(at, Buffer.alloc(64 * 1024))),
  "1-byte pieces of low streams": many(20_000, (at) => bytes(at % LOW_STREAMS, Buffer.from("x"))),
  "texts of 1 MiB": text(JSON.stringify({ jsonrpc: "2.0", id: 1, result: "x".repeat(MIB - 99) })),
  "arrays of 1 MiB": text(`[${"[],".repeat(MIB / 4)}[]]`),
  "small answers": many(5_000, () => text('{"jsonrpc":"2.0","id":1,"result":{"exitCode":0}}')),
  "small notifications": many(5_000, () =>
    text('{"jsonrpc":"2.0","method":"files.event","params":{"id":1,"path":"/"}}'),
  ),
  "opens and closes": many(20_000, (at) =>
    Buffer.from(encodeFrame(at % LOW_STREAMS, at % 2 === 0 ? "open" : "close")),
  ),
};
