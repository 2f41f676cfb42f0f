import { afterAll, beforeAll, expect, test, describe } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byCdp, byPuppeteer, byWire, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";

const SIZE = "[innerWidth, innerHeight, outerWidth, outerHeight, devicePixelRatio].join()";
const DESKTOP = "1280,720,1280,720,1";

describe.skipIf(await missingBrowser())("a page whose context sets no size is a desktop's", () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.place("s");
  });
  afterAll(() => rig.stop());

  test.each([
    ["/ws", byWire],
    ["/cdp", byCdp],
  ])("the first one and a new one, over %s", async (_name, open) => {
    const browser = await open(rig, "s");
    expect(await firstPage(browser).evaluate(SIZE)).toBe(DESKTOP);
    const page = await browser.contexts()[0]?.newPage();
    expect(await page?.evaluate(SIZE)).toBe(DESKTOP);
    const [popup] = await Promise.all([
      page?.waitForEvent("popup"),
      page?.evaluate("void open('about:blank')"),
    ]);
    expect(await popup?.evaluate(SIZE)).toBe(DESKTOP);
    await page?.close();
    await browser.close();
  });

  test("one that Puppeteer opens in a context of its own", async () => {
    const browser = await byPuppeteer(rig, "s");
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    expect(await page.evaluate(SIZE)).toBe(DESKTOP);
    await context.close();
    await browser.disconnect();
  });

  test("a context that sets a size has that size", async () => {
    const browser = await byWire(rig, "s");
    const context = await browser.newContext({ viewport: { width: 400, height: 300 } });
    expect(await (await context.newPage()).evaluate("[innerWidth, innerHeight].join()")).toBe(
      "400,300",
    );
    await browser.close();
  });

  test("one that is made by a raw call", async () => {
    const raw = await RawCdp.open(rig, "s");
    const made = await raw.call("Target.createTarget", { url: "about:blank" });
    const { targetId } = made.result ?? {};
    const { result } = await raw.call("Target.attachToTarget", { targetId, flatten: true });
    const evaluated = await raw.call(
      "Runtime.evaluate",
      { expression: SIZE, returnByValue: true },
      String(result?.["sessionId"]),
    );
    expect(evaluated.result?.["result"]).toMatchObject({ value: DESKTOP });
    raw.socket.close();
  });
});
