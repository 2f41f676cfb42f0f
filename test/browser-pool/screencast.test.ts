// The pictures of a page for its observers, and one more when it comes to rest.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { OwnClient } from "../../browser-pool/cdp/own-client.ts";
import { Screencast } from "../../browser-pool/observing/screencast.ts";

/** A JPEG of 2x1 pixels, as far as its head tells. */
const JPEG = Buffer.from("ffd8ffc0000b080001000201011100ffd9", "hex").toString("base64");
const METADATA = { deviceWidth: 2, scrollOffsetX: 0, scrollOffsetY: 0 };

let said: string[];
let cast: Screencast;
let shots: number;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  said = [];
  shots = 0;
  const call = async (method: string) => {
    said.push(method);
    return { sessionId: "s" };
  };
  const client = { call } as unknown as OwnClient;
  cast = new Screencast(client, "page", { quality: 50, maxWidth: 800 }, () => (shots += 1));
  await vi.advanceTimersByTimeAsync(5_000);
});
afterEach(() => {
  cast.stop();
  vi.useRealTimers();
});

/** So many pictures, each so long after the one before. */
async function frames(count: number, everyMs: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await vi.advanceTimersByTimeAsync(everyMs);
    const params = { data: JPEG, sessionId: 1, metadata: METADATA };
    cast.hear({ method: "Page.screencastFrame", params, sessionId: "s" });
  }
}

const starts = (): number => said.filter((method) => method === "Page.startScreencast").length;

test("pictures that follow each other soon are followed by one of the page at rest, once", async () => {
  await frames(3, 50);
  expect(starts()).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(starts()).toBe(2);
  // The browser answers a beginning with a picture, or with two.
  await frames(2, 20);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(starts()).toBe(2);
  expect(shots).toBe(5);
});

test("a page that changes now and then, or all the time, is not begun anew", async () => {
  await frames(3, 3_000);
  expect(starts()).toBe(1);
  await frames(100, 40);
  expect(starts()).toBe(1);
});

test("a screencast that is stopped begins no more", async () => {
  await frames(3, 50);
  cast.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(starts()).toBe(1);
});
