import { duplexPair } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { RfbClient } from "../../../vm-host/screen/rfb-client.ts";
import { untilStill } from "../../../vm-host/screen/stillness.ts";
import { fakeScreen } from "./fake-screen.ts";

const WISH = { stillMs: 200, limitMs: 60_000, tolerance: 0.1 };
let [screen, socket] = duplexPair();
afterEach(() => {
  screen.destroy();
  [screen, socket] = duplexPair();
});

/** No change, but something that happens once the screen is asked for one. */
function* none(happens: () => void): Generator<number> {
  happens();
  yield* [];
}

/** Waits on a screen that changes so many pixels of its ten rows of ten, by each of its answers. */
async function wait(changes: Iterable<number>, wish = WISH, signal = new AbortController().signal) {
  fakeScreen(screen, { width: 10, height: 10 }, changes);
  return untilStill(await RfbClient.open(socket), wish, signal);
}

test("a screen that does not change is still", async () => {
  const { still, waitedMs } = await wait([]);
  expect(still).toBe(true);
  expect(waitedMs).toBeGreaterThanOrEqual(WISH.stillMs - 1);
  expect(socket.destroyed).toBe(true);
});

test("a screen is still once its changes are over", async () => {
  expect(await wait([50, 100, 11])).toMatchObject({ still: true });
});

test("small changes are none", async () => {
  const blinking = (function* blink() {
    for (;;) yield 10;
  })();
  expect(await wait(blinking)).toMatchObject({ still: true });
});

test("a screen that never rests is told as that at the limit", async () => {
  const moving = (function* move() {
    for (;;) yield 11;
  })();
  expect(await wait(moving, { ...WISH, limitMs: 600 })).toMatchObject({ still: false });
  expect(socket.destroyed).toBe(true);
});

test("a wait that is cancelled ends its connection", async () => {
  const left = new AbortController();
  const waiting = wait(
    none(() => left.abort()),
    { ...WISH, stillMs: 60_000 },
    left.signal,
  );
  await expect(waiting).rejects.toThrow(/ended|aborted/);
  expect(socket.destroyed).toBe(true);
});

test("a screen that ends meanwhile is told as that", async () => {
  const waiting = wait(
    none(() => screen.end()),
    { ...WISH, stillMs: 60_000 },
  );
  await expect(waiting).rejects.toThrow("the connection has ended");
});
