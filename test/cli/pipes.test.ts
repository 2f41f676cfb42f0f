// The output of `svc` while its reader is slow.
import { getEventListeners } from "node:events";
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { readerGone, write } from "../../cli/terminal/pipes.ts";

test("a slow reader is waited for, and a wait that is over leaves nothing behind", async () => {
  const read: string[] = [];
  const slow = new Writable({
    highWaterMark: 1,
    write: (part, _encoding, done) => {
      setImmediate(() => {
        read.push(String(part));
        done();
      });
    },
  });
  for (const part of ["one", "two", "three"]) {
    await write(slow as NodeJS.WriteStream, part);
    expect(read.at(-1)).toBe(part);
  }
  expect(getEventListeners(readerGone(), "abort")).toEqual([]);
  expect(slow.listenerCount("drain")).toBe(0);
});
