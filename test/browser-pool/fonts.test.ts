import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser, missingPagePackages } from "../support/process/needs.ts";
import { byWire, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";
import { SCRIPTS } from "./scripts.ts";

/** Draws letters in the page, and looks at their pixels. */
const DRAWING = `
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 80;
  const ink = canvas.getContext("2d", { willReadFrequently: true });
  function pixels(text) {
    ink.clearRect(0, 0, 80, 80);
    ink.font = "32px sans-serif";
    ink.fillText(text, 24, 50);
    return ink.getImageData(0, 0, 80, 80).data;
  }`;

const skipped = (await missingBrowser()) ?? missingPagePackages();

describe.skipIf(skipped)("a page draws", () => {
  let rig: Rig;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.place("s");
    browser = await byWire(rig, "s");
    page = firstPage(browser);
  });
  afterAll(async () => {
    await browser?.close();
    await rig.stop();
  });

  /** The letters of a text for which the page draws what it draws for a letter that no font has. */
  function boxes(text: string): Promise<string[]> {
    return page.evaluate(`{${DRAWING}
      const box = pixels("\\u{10fff0}").join();
      if (pixels(" ").join() === box) throw new Error("a letter that no font has is drawn as nothing");
      [...${JSON.stringify(text)}].filter((letter) => !/[\\p{Zs}\\p{Cf}\\p{M}]/u.test(letter) && pixels(letter).join() === box);
    }`);
  }

  test("a box for a letter that no font has", async () => {
    expect(await boxes("a\u{10fffd}b")).toEqual(["\u{10fffd}"]);
  });

  test.each(SCRIPTS)("every letter of $script", async ({ text }) => {
    expect(await boxes(text)).toEqual([]);
  });

  test.each([
    ["an emoji", "🚀"],
    ["a flag", "🇧🇷"],
    ["a flag of a region", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"],
    ["a heart made an emoji", "❤️"],
  ])("%s in colour, and as one sign", async (_name, emoji) => {
    const drawn = await page.evaluate(`{${DRAWING}
      const rgba = pixels(${JSON.stringify(emoji)});
      let coloured = 0;
      for (let i = 0; i < rgba.length; i += 4)
        if (Math.max(...rgba.slice(i, i + 3)) - Math.min(...rgba.slice(i, i + 3)) > 80) coloured++;
      ({ coloured, widths: ink.measureText(${JSON.stringify(emoji)}).width / ink.measureText("🚀").width });
    }`);
    expect(drawn).toEqual({ coloured: expect.any(Number), widths: 1 });
    expect(drawn).toHaveProperty(
      "coloured",
      expect.toSatisfy((count: number) => count > 100),
    );
  });

  test.each([
    ["Arial", "LiberationSans"],
    ["Times New Roman", "LiberationSerif"],
    ["Courier New", "LiberationMono"],
    ["Calibri", "Carlito"],
    ["Cambria", "Caladea-Regular"],
  ])("%s with a font of the same widths", async (family, font) => {
    expect(await fontOf(`font-family: ${family}`, "en", "Text")).toBe(font);
  });

  test.each([
    ["ja", "NotoSansCJKjp-Regular"],
    ["zh-CN", "NotoSansCJKsc-Regular"],
    ["zh-TW", "NotoSansCJKtc-Regular"],
    ["ko", "NotoSansCJKkr-Regular"],
  ])("Han as in the language %s", async (lang, font) => {
    expect(await fontOf("font-family: sans-serif", lang, "骨直角")).toBe(font);
  });

  /** The font that draws a text on a page of its own: a process keeps the first font that it has found for a letter. */
  async function fontOf(style: string, lang: string, text: string): Promise<string | undefined> {
    const context = await browser.newContext();
    const own = await context.newPage();
    await own.setContent(`<meta charset=utf-8><p lang="${lang}" style="${style}">${text}</p>`);
    const cdp = await context.newCDPSession(own);
    await cdp.send("DOM.enable");
    await cdp.send("CSS.enable");
    const { root } = await cdp.send("DOM.getDocument");
    const { nodeId } = await cdp.send("DOM.querySelector", { nodeId: root.nodeId, selector: "p" });
    const { fonts } = await cdp.send("CSS.getPlatformFontsForNode", { nodeId });
    await context.close();
    return fonts.map((font) => font.postScriptName).join();
  }
});
