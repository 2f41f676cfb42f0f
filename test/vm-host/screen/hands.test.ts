// Whose button is down how long: several clients share the hands of a desktop.
import { duplexPair } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Screen } from "../../../vm-host/screen/screen.ts";
import { fakeScreen } from "./fake-screen.ts";

const SIZE = { width: 16, height: 9 };
const HOLD_MS = 60_000;

let screen: Screen;
/** Which buttons are down: 1 is the left one. */
let buttons: number;
/** Whether any button was down meanwhile. */
let wasPressed: boolean;
const [one, other] = [{}, {}];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  buttons = 0;
  wasPressed = false;
  const dial = async () => {
    const [theirs, ours] = duplexPair();
    fakeScreen(theirs, SIZE, [], (down) => {
      buttons = down;
      wasPressed ||= down !== 0;
    });
    return ours;
  };
  screen = new Screen(dial, async () => ({ x: 1, y: 1 }));
});
afterEach(() => vi.useRealTimers());

/** Which buttons are down once all that was asked for is done. */
async function down(): Promise<number> {
  await screen.hands.move({ x: 2, y: 2 });
  return buttons;
}

test.each([0, 100])(
  "a drag of %i ms that is cancelled before its turn presses nothing",
  async (durationMs) => {
    const cancel = new AbortController();
    const before = screen.hands.move({ x: 2, y: 2 });
    const path = [
      { x: 3, y: 3 },
      { x: 4, y: 4 },
    ];
    const { signal } = cancel;
    const drag = screen.hands.drag(path, { button: "left", durationMs, signal });
    cancel.abort(new Error("cancelled"));
    await expect(drag).rejects.toThrow("cancelled");
    await before;
    await down();
    expect(wasPressed).toBe(false);
  },
);

describe("a button that is held", () => {
  test("goes up when its client has gone", async () => {
    await screen.hands.hold("left", { by: one, holdMs: 0 });
    expect(await down()).toBe(1);
    screen.hands.left(one);
    expect(await down()).toBe(0);
  });

  test("stays down after its client as long as was said", async () => {
    await screen.hands.hold("left", { by: one, holdMs: HOLD_MS });
    screen.hands.left(one);
    vi.advanceTimersByTime(HOLD_MS - 1);
    expect(await down()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await down()).toBe(0);
  });

  test("is let go of by any other client", async () => {
    await screen.hands.hold("left", { by: one, holdMs: HOLD_MS });
    screen.hands.left(one);
    await screen.hands.letGo("left");
    expect(await down()).toBe(0);
  });

  test("is that of who pressed it last: the end and the time of others do not count", async () => {
    await screen.hands.hold("left", { by: one, holdMs: HOLD_MS });
    screen.hands.left(one);
    await screen.hands.letGo("left");
    await screen.hands.hold("left", { by: other, holdMs: 0 });
    vi.advanceTimersByTime(HOLD_MS);
    screen.hands.left(one);
    expect(await down()).toBe(1);
    screen.hands.left(other);
    expect(await down()).toBe(0);
  });

  test("is one of several: each has its own client", async () => {
    await screen.hands.hold("left", { by: one, holdMs: 0 });
    await screen.hands.hold("right", { by: other, holdMs: 0 });
    screen.hands.left(one);
    expect(await down()).toBe(4);
  });
});
