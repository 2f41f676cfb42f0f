import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readReplay } from "../../../console/replay/replay-events.ts";
import { NONSENSE } from "../../support/hostile-replay.ts";

const EVENT = { type: 3, data: { source: 0 }, timestamp: 1, tabId: "a" };
const read = (text: string, most?: number) =>
  readReplay(new Blob([gzipSync(text)]).stream() as ReadableStream<Uint8Array<ArrayBuffer>>, most);

test("lines that are no events are left out", async () => {
  const lines = [JSON.stringify(EVENT), ...NONSENSE.slice(0, 7), JSON.stringify(EVENT)];
  expect(await read(lines.join("\n"))).toEqual({ events: [EVENT, EVENT], fault: null });
});

test("a file that ends in the middle is read up to there", async () => {
  const bytes = gzipSync(`${JSON.stringify(EVENT)}\n`.repeat(1000));
  const half = new Blob([bytes.subarray(0, bytes.length - 12)]).stream();
  const { events, fault } = await readReplay(half as ReadableStream<Uint8Array<ArrayBuffer>>);
  expect(events.length).toBeGreaterThan(0);
  expect(fault).toContain("ends early");
});

test("what is longer than may be is read up to there", async () => {
  const { events, fault } = await read(`${JSON.stringify(EVENT)}\n`.repeat(100_000), 1_000_000);
  expect(events.length).toBeLessThan(20_000);
  expect(fault).toContain("too long");
});

test("a line may come in any number of pieces", async () => {
  const long = { ...EVENT, data: { text: "x".repeat(5_000_000) } };
  expect((await read(`${JSON.stringify(long)}\n`)).events).toEqual([long]);
});
