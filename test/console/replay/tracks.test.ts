import { expect, test } from "vitest";
import { cutOf, tracksOf } from "../../../console/replay/tracks.ts";
import type { ReplayEvent } from "../../../console/replay/replay-events.ts";

const event = (type: number, timestamp: number, where: object, data: object = {}): ReplayEvent => ({
  type,
  timestamp,
  data: { ...data },
  ...where,
});
const document = (where: object, href: string, at = 1): ReplayEvent[] => [
  event(4, at, where, { href }),
  event(2, at + 1, where),
];

test("each tab has a track, its frames of other origins behind it, and a title without a scheme", () => {
  const events = [
    ...document({ tabId: "a", frameId: "f" }, "https://pay.test/"),
    ...document({ tabId: "a" }, "https://shop.test/cart"),
    ...document({ tabId: "b" }, "http://b.test/"),
  ];
  const tracks = tracksOf(events).map(({ title, isFrame }) => [title, isFrame]);
  expect(tracks).toEqual([
    ["shop.test/cart", false],
    ["pay.test/", true],
    ["b.test/", false],
  ]);
});

test("a tab that never showed a document has none, and events before the first document are left out", () => {
  const events = [
    event(3, 0, { tabId: "a" }),
    ...document({ tabId: "a" }, "about:blank"),
    event(3, 1, { tabId: "b" }),
    event(5, 9, {}, { tag: "svc.end" }),
  ];
  const [track, ...others] = tracksOf(events);
  expect(others).toEqual([]);
  expect(track?.events.map(({ type }) => type)).toEqual([4, 2]);
});

test("the reason of a replay that was cut is told", () => {
  const cut = event(5, 9, {}, { tag: "svc.cut", payload: { reason: "the disk is full" } });
  expect(cutOf([cut])).toBe("the disk is full");
  expect(cutOf([event(5, 9, {}, { tag: "svc.end" })])).toBeNull();
  expect(cutOf([event(5, 9, {}, { tag: "svc.cut", payload: 7 })])).toBeNull();
});
