import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { writeTogether } from "../../browser-pool/cdp/pieces.ts";

const KIB = 1024;

/** How a stream was written to: the lengths of the pieces of each write. */
function recorded(): { output: Writable; writes: number[][] } {
  const writes: number[][] = [];
  const output = new Writable({
    highWaterMark: 32 * KIB,
    write: (chunk: Buffer, _encoding, done) => {
      writes.push([chunk.length]);
      done();
    },
    writev: (chunks: { chunk: Buffer }[], done) => {
      writes.push(chunks.map(({ chunk }) => chunk.length));
      done();
    },
  });
  return { output, writes };
}

test("short pieces of a message are written as one", () => {
  const { output, writes } = recorded();
  expect(writeTogether(output, [Buffer.from("ab"), Buffer.alloc(0), Buffer.from("c")])).toBe(true);
  expect(writes).toEqual([[3]]);
});

test("long pieces are written at once and are not joined", () => {
  const { output, writes } = recorded();
  const pieces = [Buffer.alloc(2), Buffer.alloc(24 * KIB), Buffer.alloc(1)];
  writeTogether(output, pieces);
  expect(writes).toEqual([[2, 24 * KIB, 1]]);
});

test("a stream that has enough says so", () => {
  const output = new Writable({ highWaterMark: 32 * KIB, write: () => {} });
  expect(writeTogether(output, [Buffer.alloc(2), Buffer.alloc(40 * KIB)])).toBe(false);
  expect(writeTogether(output, [Buffer.alloc(2)])).toBe(false);
});
