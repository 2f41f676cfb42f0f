import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type LivePageRig, PATIENCE } from "../support/process/live-page-rig.ts";

/** What a phone is: a finger, and a small screen. */
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

interface Logged {
  name: string;
  trusted: boolean;
  button: number;
  detail: number;
  key?: string;
  shift: boolean;
  target: string;
}

/** What a person writes, pastes and scrolls at a desk. */
export function deskCases(rigOf: () => LivePageRig): void {
  let rig: LivePageRig;
  let person: Page;
  let devTools: CDPSession;
  beforeAll(async () => {
    rig = rigOf();
    person = await rig.person("fields", { permissions: ["clipboard-read", "clipboard-write"] });
    devTools = await person.context().newCDPSession(person);
  });
  afterAll(() => rig.end(person));
  beforeEach(() => rig.show("fields", person));

  const log = (): Promise<Logged[]> => rig.page.evaluate("log");
  const logged = (isIt: (event: Logged) => boolean) => async () => (await log()).some(isIt);
  const value = (selector: string) => () => rig.page.inputValue(selector);
  const scrolled = (): Promise<number> => rig.page.evaluate("scrollY");
  const copy = (text: string): Promise<void> =>
    person.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
  const compose = (text: string): Promise<unknown> =>
    devTools.send("Input.imeSetComposition", {
      text,
      selectionStart: text.length,
      selectionEnd: text.length,
    });

  test("what is pasted is the person's clipboard, whole and once", async () => {
    await rig.click("#many", person);
    await copy("Zeile eins\n日本 🎉 <b>");
    await person.keyboard.press("Control+V");
    await expect.poll(value("#many")).toBe("Zeile eins\n日本 🎉 <b>");
    await copy(" und");
    await person.keyboard.press("Shift+Insert");
    await expect.poll(value("#many")).toBe("Zeile eins\n日本 🎉 <b> und");
    expect((await log()).filter(({ key }) => key?.toLowerCase() === "v")).toEqual([]);
  });

  test("what is too long to paste comes as far as it may, and costs nobody the session", async () => {
    await rig.click("#many", person);
    // The last sign that fits is half of a pair.
    await copy(`x${"🎉".repeat(20_000)}`);
    for (let times = 0; times < 4; times += 1) await person.keyboard.press("Control+V");
    await expect.poll(value("#many")).toBe(`x${"🎉".repeat(16_383)}`.repeat(4));
    await person.keyboard.type("!");
    await expect.poll(value("#many")).toMatch(/!$/);
  });

  test("text that is dragged into the picture comes as far as it may, too", async () => {
    await rig.click("#many", person);
    await person.evaluate(`document.execCommand("insertText", false, "y".repeat(40_000))`);
    await expect.poll(value("#many")).toBe("y".repeat(32_768));
  });

  test("an input method writes its text once, when it is done", async () => {
    await rig.click("#one", person);
    await compose("に");
    await compose("にほ");
    await devTools.send("Input.insertText", { text: "日本" });
    await person.keyboard.type("!");
    await expect.poll(value("#one")).toBe("日本!");
  });

  test("a click ends what an input method writes, which comes before the click", async () => {
    await rig.click("#one", person);
    await compose("ada");
    await rig.click("#many", person);
    await person.keyboard.type("x");
    await expect.poll(value("#many")).toBe("x");
    expect(await rig.page.inputValue("#one")).toBe("ada");
  });

  test("the wheel scrolls, as far and in the direction that it turns", async () => {
    const { x, y } = await rig.pointOf("#press", person);
    await person.mouse.move(x, y);
    await person.mouse.wheel(0, 300);
    await expect.poll(scrolled).toBe(300);
    await person.mouse.wheel(0, -100);
    await expect.poll(scrolled).toBe(200);
    // Wheels that spin freely tell of more than a message holds, and cost nobody the session.
    for (let times = 0; times < 4; times += 1) await person.mouse.wheel(0, 50_000);
    await expect.poll(scrolled).toBe(2_280);
    await person.mouse.wheel(0, -100);
    await expect.poll(scrolled).toBe(2_180);
  });

  test("clicks are those of the person: which button, how often, with which keys", async () => {
    const { x, y } = await rig.pointOf("#press", person);
    await person.mouse.dblclick(x, y);
    await expect
      .poll(
        logged(
          ({ name, detail, target }) => name === "click" && detail === 2 && target === "press",
        ),
      )
      .toBe(true);
    await person.mouse.click(x, y, { button: "right" });
    await expect
      .poll(logged(({ name, button }) => name === "contextmenu" && button === 2))
      .toBe(true);
    await person.mouse.click(x, y, { button: "middle" });
    await expect.poll(logged(({ name, button }) => name === "auxclick" && button === 1)).toBe(true);
    await person.keyboard.down("Shift");
    await person.mouse.click(x, y);
    await person.keyboard.up("Shift");
    await expect
      .poll(logged(({ name, shift, target }) => name === "click" && shift && target === "press"))
      .toBe(true);
    expect((await log()).every(({ trusted }) => trusted)).toBe(true);
  });

  test("a button that is let go outside the picture is let go in the page", async () => {
    const { x, y } = await rig.pointOf("#press", person);
    await person.mouse.move(x, y);
    await person.mouse.down();
    await person.mouse.move(x, 3);
    await person.mouse.up();
    await expect.poll(logged(({ name }) => name === "mouseup")).toBe(true);
  });

  test("F6 leads to the buttons and Tab back into the picture", async () => {
    await rig.click("#one", person);
    await person.keyboard.press("F6");
    await person.locator("#done:focus").waitFor(PATIENCE);
    await person.keyboard.press("Tab");
    await person.keyboard.type("back");
    await expect.poll(value("#one")).toBe("back");
    expect((await log()).filter(({ key }) => key === "F6")).toEqual([]);
  });
}

/** What a finger does. */
export function phoneCases(rigOf: () => LivePageRig): void {
  let rig: LivePageRig;
  let person: Page;
  let devTools: CDPSession;
  beforeAll(async () => {
    rig = rigOf();
    person = await rig.person("fields", PHONE);
    devTools = await person.context().newCDPSession(person);
  });
  afterAll(() => rig.end(person));

  const touch = (
    type: "touchStart" | "touchMove" | "touchEnd",
    ...touchPoints: { x: number; y: number }[]
  ): Promise<unknown> => devTools.send("Input.dispatchTouchEvent", { type, touchPoints });

  const log = (): Promise<Logged[]> => rig.page.evaluate("log");
  const clicks = async (id: string) =>
    (await log()).filter(({ name, target }) => name === "click" && target === id).length;
  const zoom = (): Promise<number> => person.evaluate("visualViewport.scale");
  const value = (): Promise<string> => rig.page.inputValue("#many");

  test("a finger clicks, and the keyboard of the phone writes there", async () => {
    const { x, y } = await rig.pointOf("#many", person);
    await person.touchscreen.tap(x, y);
    await expect.poll(() => clicks("many")).toBe(1);
    await devTools.send("Input.insertText", { text: "by thumb" });
    await expect.poll(value).toBe("by thumb");
    await person.evaluate(`document.execCommand("insertLineBreak")`);
    await expect.poll(value).toBe("by thumb\n");
  });

  test("the menu of a finger is the phone's own, that of a mouse is the page's", async () => {
    const isLeft = (pointerType: string): Promise<boolean> =>
      person.evaluate(`keys.dispatchEvent(new PointerEvent("contextmenu",
        { bubbles: true, cancelable: true, pointerType: "${pointerType}" }))`);
    expect(await isLeft("touch")).toBe(true);
    expect(await isLeft("mouse")).toBe(false);
  });

  test("a finger that moves scrolls and does not click; two fingers are the phone's own", async () => {
    const { x, y } = await rig.pointOf("#press", person);
    await touch("touchStart", { x, y });
    for (const up of [20, 40, 60]) await touch("touchMove", { x, y: y - up });
    await touch("touchEnd");
    // As far as the finger moved, in the pixels of the page.
    const { width } = await rig.boxOf("#picture", person);
    const moved = (60 * (rig.page.viewportSize()?.width ?? 0)) / width;
    const scrolled = (): Promise<number> => rig.page.evaluate("scrollY");
    await expect.poll(scrolled).toBeGreaterThan(moved - 5);
    expect(await scrolled()).toBeLessThan(moved + 5);
    expect(await clicks("press")).toBe(0);
    expect(await zoom()).toBe(1);
    const spread = (by: number) =>
      [
        { x: x - by, y },
        { x: x + by, y },
      ] as const;
    await touch("touchStart", ...spread(10));
    for (const by of [30, 50, 70, 90]) await touch("touchMove", ...spread(by));
    await touch("touchEnd");
    await expect.poll(zoom).toBeGreaterThan(1.2);
  });
}
