// Input of a person goes to a page that waits for them, and not before.
import { expect, test } from "vitest";
import type { OwnClient } from "../../browser-pool/cdp/own-client.ts";
import { Hand } from "../../browser-pool/observing/hand.ts";

const SHOWN = { page: "page", scale: 1 };
const PRESS = { type: "mouse", action: "down", x: 1, y: 1, button: "left", clicks: 1 } as const;

/** A hand on a browser that answers what holds the page only when it is told to. */
function heldUp() {
  const said: string[] = [];
  const answered = Promise.withResolvers<object>();
  const isHolding = (method: string): boolean => /^Page\.(enable|setIntercept)/.test(method);
  const call = (method: string): Promise<object> => {
    said.push(method);
    return isHolding(method) ? answered.promise : Promise.resolve({ sessionId: "session" });
  };
  const hand = new Hand({ call } as unknown as OwnClient, () => {});
  return { hand, said, answer: answered.resolve, fail: answered.reject };
}

const HELD = ["Target.attachToTarget", "Page.enable", "Page.setInterceptFileChooserDialog"];

test.each(["answered", "refused"])(
  "the first click waits until dialogs and wishes for files wait for the person: they are %s",
  async (end) => {
    const { hand, said, answer, fail } = heldUp();
    hand.use({ ...PRESS, dx: 0, dy: 0, mods: 0 }, SHOWN);
    hand.use({ type: "text", text: "a" }, SHOWN);
    await expect.poll(() => said).toEqual(HELD);
    await new Promise(setImmediate);
    expect(said).toEqual(HELD);
    if (end === "answered") answer({});
    else fail(new Error("no such domain"));
    await expect
      .poll(() => said)
      .toEqual([...HELD, "Input.dispatchMouseEvent", "Input.insertText"]);
  },
);

test("a page that answers nothing can be left, and its dialog answered", async () => {
  const { hand, said } = heldUp();
  hand.use({ type: "dialog", action: "accept" }, SHOWN);
  hand.use({ type: "nav", action: "goto", url: "https://example.com/" }, SHOWN);
  await expect.poll(() => said).toEqual([...HELD, "Page.handleJavaScriptDialog", "Page.navigate"]);
});
