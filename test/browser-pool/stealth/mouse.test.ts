import { describe, expect, test } from "vitest";
import type { ClientCall } from "../../../browser-pool/cdp/call.ts";
import type { JsonObject } from "../../../browser-pool/cdp/envelope.ts";
import { HumanMouse } from "../../../browser-pool/stealth/mouse.ts";

const MOST_WAITING = 32;

/** A mouse, and all that it sends on in its order. */
class Desk {
  readonly sent: JsonObject[] = [];
  readonly mouse: HumanMouse;
  answer: () => Promise<unknown> = () => Promise.resolve();
  #nextId = 1;

  constructor() {
    const pass = ({ params, method, sessionId }: ClientCall): void =>
      void this.sent.push({ ...(params as object), method, sessionId });
    const move = (sessionId: string, params: JsonObject): Promise<unknown> => {
      this.sent.push({ ...params, sessionId, isOwn: true });
      return this.answer();
    };
    this.mouse = new HumanMouse({ pass, move });
  }

  event(type: string, x: number, y: number, more: object = {}, sessionId = "page"): void {
    const params = { type, x, y, ...more };
    this.call("Input.dispatchMouseEvent", params, sessionId);
  }

  call(method: string, params: object, sessionId?: string): void {
    this.mouse.send({ id: this.#nextId++, method, params, ...(sessionId && { sessionId }) });
  }

  /** Waits until the client's own events of this type have been sent. */
  async until(type: string, count = 1): Promise<void> {
    const own = () => this.passed().filter((one) => one.type === type).length;
    await expect.poll(own).toBe(count);
  }

  passed(): JsonObject[] {
    return this.sent.filter((one) => !one.isOwn);
  }
}

describe("the mouse of a stealth session", () => {
  test("goes to a far place along a path that bends, in steps that differ", async () => {
    const desk = new Desk();
    desk.event("mouseMoved", 100, 100);
    await desk.until("mouseMoved");
    desk.sent.length = 0;
    desk.event("mouseMoved", 700, 500, { modifiers: 8 });
    await desk.until("mouseMoved");
    const steps = desk.sent.filter((one) => one.isOwn);
    expect(steps.length).toBeGreaterThan(10);
    expect(desk.sent.at(-1)).toMatchObject({ x: 700, y: 500, modifiers: 8 });
    expect(steps.every((one) => one.modifiers === 8)).toBe(true);
    // How far each step is from the straight line between the two places.
    const off = steps.map(({ x, y }) => Math.abs(400 * Number(x) - 600 * Number(y) + 20_000) / 721);
    expect(Math.max(...off)).toBeGreaterThan(0);
    const lengths = steps.slice(1).map(({ x }, index) => Number(x) - Number(steps[index]?.x));
    expect(new Set(lengths).size).toBe(lengths.length);
  });

  test("moves at once to a place nearby, as a client that makes its own path wants", () => {
    const desk = new Desk();
    desk.event("mousePressed", 100, 100);
    desk.event("mouseMoved", 103, 104);
    expect(desk.sent.some((one) => one.isOwn)).toBe(false);
  });

  test("keeps a button down for a while", async () => {
    const desk = new Desk();
    desk.event("mousePressed", 10, 10);
    desk.event("mouseReleased", 10, 10);
    await desk.until("mousePressed");
    expect(desk.passed()).toHaveLength(1);
    await desk.until("mouseReleased");
  });

  test("leaves drags, the wheel, fingers and keys as they are, in their order", async () => {
    const desk = new Desk();
    desk.event("mouseMoved", 500, 500);
    desk.event("mousePressed", 500, 500, { buttons: 1 });
    desk.event("mouseMoved", 900, 900, { buttons: 1 });
    desk.event("mouseWheel", 900, 900, { deltaY: 100 });
    desk.call("Input.dispatchTouchEvent", { type: "touchStart" }, "page");
    desk.call("Input.dispatchDragEvent", { type: "drop" }, "page");
    desk.call("Input.dispatchKeyEvent", { type: "keyDown" }, "page");
    desk.event("mouseReleased", 900, 900);
    await desk.until("mouseReleased");
    const types = desk.passed().map(({ type }) => type);
    const press = ["mousePressed", "mouseMoved", "mouseWheel", "touchStart", "drop", "keyDown"];
    expect(types).toEqual(["mouseMoved", ...press, "mouseReleased"]);
    const pressed = desk.sent.findIndex(({ type }) => type === "mousePressed");
    expect(desk.sent.slice(pressed).some((one) => one.isOwn)).toBe(false);
  });

  test("does not hold up what is no input, nor another page's input", () => {
    const desk = new Desk();
    desk.event("mouseMoved", 500, 500);
    desk.call("Runtime.evaluate", {}, "page");
    desk.call("Target.getTargets", {});
    desk.call("Input.insertText", { text: "x" }, "other");
    const methods = ["Runtime.evaluate", "Target.getTargets", "Input.insertText"];
    expect(desk.passed().map(({ method }) => method)).toEqual(methods);
  });

  test("hurries when a client floods it: nothing is lost, nothing waits, the order is kept", async () => {
    const desk = new Desk();
    for (let index = 0; index < 1_000; index += 1)
      desk.event("mouseMoved", index * 50, 10, { index });
    await desk.until("mouseMoved", 1_000);
    const order = desk.passed().map(({ index }) => index);
    expect(order).toEqual(order.toSorted((a, b) => Number(a) - Number(b)));
    expect(desk.sent.filter((one) => one.isOwn).length).toBeLessThan(MOST_WAITING);
    // The flood is over: a hand again.
    desk.sent.length = 0;
    desk.event("mouseMoved", 10, 10);
    await desk.until("mouseMoved");
    expect(desk.sent.length).toBeGreaterThan(MOST_WAITING);
  });

  test("keeps no long text that a client inserts while the hand moves", () => {
    const desk = new Desk();
    const rawParams = [Buffer.alloc(1024 * 1024)];
    desk.event("mouseMoved", 500, 500);
    desk.mouse.send({ id: 99, method: "Input.insertText", rawParams, sessionId: "page" });
    return expect
      .poll(() => desk.passed().map(({ method }) => method))
      .toContain("Input.insertText");
  });

  test("gives up its path in a page that is busy or gone", async () => {
    const desk = new Desk();
    desk.answer = () => new Promise(() => {});
    desk.event("mouseMoved", 500, 500);
    await desk.until("mouseMoved");
    expect(desk.sent.filter((one) => one.isOwn)).toHaveLength(1);
    desk.answer = () => Promise.reject(new Error("gone"));
    desk.event("mouseMoved", 10, 10);
    await desk.until("mouseMoved", 2);
    expect(desk.sent.filter((one) => one.isOwn)).toHaveLength(2);
  });

  test("sends nothing more once its client has gone", async () => {
    const desk = new Desk();
    const moved = Promise.withResolvers<void>();
    desk.answer = () => moved.promise;
    desk.event("mouseMoved", 500, 500);
    desk.event("mousePressed", 500, 500);
    desk.mouse.close();
    desk.event("mouseReleased", 500, 500);
    moved.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(desk.passed()).toEqual([]);
  });
});
