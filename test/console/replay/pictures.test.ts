import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";
import { bytesOf, takePictures } from "../../../console/replay/pictures.ts";
import type { ReplayEvent } from "../../../console/replay/replay-events.ts";

const GOOD = "data:image/webp;base64,UklGRg==";
const event = (timestamp: number, type: number, data: object): ReplayEvent => ({
  timestamp,
  type,
  data: { ...data },
});
const picture = (at: number, payload: unknown): ReplayEvent =>
  event(at, 5, { tag: "svc.picture", payload });
const url = (bytes: Buffer): string => `data:image/webp;base64,${bytes.toString("base64")}`;

/** The first chunk of a WebP that says how large it is. */
function head(kind: string, at: number, write: (bytes: Buffer, at: number) => void): string {
  const bytes = Buffer.alloc(40);
  bytes.write("RIFF", 0);
  bytes.write("WEBP", 8);
  bytes.write(kind, 12);
  write(bytes, at);
  return url(bytes);
}

test("what an element shows is found by the moment, forwards and backwards, by name too, and not beyond a snapshot", () => {
  const { pictures, events } = takePictures([
    event(1, 2, {}),
    picture(2, { id: 5, picture: "a", data: GOOD }),
    picture(4, { id: 5, picture: "b", data: `${GOOD.slice(0, -4)}Qg==` }),
    event(6, 2, {}),
    picture(7, { id: 9, picture: "a" }),
  ]);
  const shown = (at: number) => [...pictures.at(at)].map(([id, each]) => [id, each.slice(-4)]);
  expect(shown(1)).toEqual([]);
  expect(shown(5)).toEqual([[5, "Qg=="]]);
  expect(shown(3)).toEqual([[5, "Rg=="]]);
  expect(shown(6)).toEqual([]);
  expect(shown(8)).toEqual([[9, "Rg=="]]);
  // The track lasts as long as its pictures.
  expect(events.at(-1)).toMatchObject({ timestamp: 7, type: 6 });
  const { events: longer } = takePictures([...events, picture(7, null), event(8, 3, {})]);
  expect(longer.at(-1)).toMatchObject({ timestamp: 8, type: 3 });
});

test.each([
  ["of an address", { id: 1, picture: "a", data: "http://trap/" }],
  ["of another kind", { id: 1, picture: "a", data: "data:image/svg+xml;base64,PHN2Zz4=" }],
  ["with more behind it", { id: 1, picture: "a", data: `${GOOD}"><script>` }],
  ["that is too long", { id: 1, picture: "a", data: GOOD.padEnd(300_000, "A") }],
  ["that was never told", { id: 1, picture: "z" }],
  ["without a number", { picture: "a", data: GOOD }],
  ["that is nothing", null],
])("a picture %s is none", (_name, payload) => {
  const { pictures, events } = takePictures([event(1, 2, {}), picture(2, payload)]);
  expect(pictures.isEmpty).toBe(true);
  expect(events).toHaveLength(2);
});

test("more elements than a recorder tells of show nothing", () => {
  const many = Array.from({ length: 1000 }, (_, n) =>
    picture(2, { id: n + 1, picture: "a", data: GOOD }),
  );
  const { pictures } = takePictures([event(1, 2, {}), ...many]);
  expect(pictures.at(3).size).toBe(LIMITS.replayPicturedElements);
});

test("a picture of more pixels than a recorder makes, or of none that can be known, is not unpacked", () => {
  const lossy = (side: number) =>
    head("VP8 ", 26, (bytes, at) => {
      bytes.writeUInt16LE(side, at);
      bytes.writeUInt16LE(side, at + 2);
    });
  const lossless = (side: number) =>
    head("VP8L", 21, (bytes, at) =>
      bytes.writeUInt32LE((((side - 1) << 14) | (side - 1)) >>> 0, at),
    );
  const extended = (side: number) =>
    head("VP8X", 24, (bytes, at) => {
      bytes.writeUIntLE(side - 1, at, 3);
      bytes.writeUIntLE(side - 1, at + 3, 3);
    });
  for (const of of [lossy, lossless, extended]) {
    expect(bytesOf(of(500))).not.toBeNull();
    expect(bytesOf(of(16_000))).toBeNull();
  }
  for (const rest of ["", "RIFF", "RIFF....WEBPVP8 ", "GIF89a".padEnd(40)])
    expect(bytesOf(url(Buffer.from(rest)))).toBeNull();
});
