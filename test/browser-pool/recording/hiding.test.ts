// The page script while somebody signs in, in a real Chromium.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRrweb } from "../../../browser-pool/recording/page-script.ts";
import { missingBrowser } from "../../support/process/needs.ts";
import { openPersonsBrowser } from "../../support/process/persons-browser.ts";
import { startEchoSite } from "../../support/process/recorded.ts";
import { RecordedDocument } from "./recorded-document.ts";

const FORM = `<input id=name value=before><input id=other value=kept><textarea id=area></textarea>
<select id=choice><option>one<option>two</select><input id=copy><input id=later>
<div id=note contenteditable><p>draft</p></div><p id=echo>shown</p>`;
const IN_TIME = "Date.now() + 60000";

const site = await startEchoSite();
let browser: Browser;
let rrweb: string;

const opened = (html = FORM, mask: "inputs" | "all" | null = null) =>
  RecordedDocument.open(browser, site.page(html), rrweb, mask);
const hide = (document: RecordedDocument, until = IN_TIME): Promise<string> =>
  document.evaluate(`__svcRecorder.hide(${until})`);
const show = (document: RecordedDocument): Promise<string> =>
  document.evaluate("__svcRecorder.show()");
/** Lines that tell of the texts of a document since the last look, without its URL, which has its whole source. */
const told = async (document: RecordedDocument): Promise<string> =>
  (await document.take()).replaceAll(/"href":"[^"]*"/g, "");
/** Events of rrweb by their source, of those that are changes. */
const sourcesOf = (lines: string): unknown[] =>
  lines
    .split("\n")
    .map((line) => JSON.parse(line) as { data: { source?: number } })
    .flatMap(({ data }) => data.source ?? []);

describe.skipIf(await missingBrowser())("a document in which somebody signs in", () => {
  beforeAll(async () => {
    browser = await openPersonsBrowser();
    rrweb = await readRrweb();
  });
  afterAll(async () => {
    await browser.close();
    site.close();
  });

  test("gives the lines of before, then hides every field, and shows again what nobody has typed in", async () => {
    const document = await opened();
    const { page } = document;
    await document.begin();
    await page.fill("#other", "typed-before");
    expect(await hide(document)).toContain("typed-before");
    await page.fill("#name", "secret-name");
    await page.fill("#area", "secret-area");
    await page.selectOption("#choice", "two");
    await page.evaluate(`copy.value = document.querySelector("#name").value`);
    const meanwhile = await told(document);
    expect(meanwhile).not.toMatch(/secret|typed-before|"text":"two"/);
    expect(meanwhile).toContain("********");
    await show(document);
    await page.fill("#later", "typed-after");
    const after = await told(document);
    expect(after).toContain("typed-after");
    expect(after).not.toContain("secret");
    // A recorder that begins anew hides those texts in its snapshot too.
    await document.evaluate("__svcRecorder.again()");
    await document.begin();
    const anew = await told(document);
    expect(anew).toContain("typed-before");
    expect(anew).not.toContain("secret");
    await page.close();
  });

  test("hides what is typed in editable elements, whatever its length, and no other text", async () => {
    const document = await opened();
    const { page } = document;
    await document.begin();
    await hide(document);
    await page.focus("#note");
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText(" secret-note and more");
    await page.evaluate(`echo.firstChild.data = "plain text"`);
    const meanwhile = await told(document);
    expect(meanwhile).toContain("plain text");
    expect(meanwhile).not.toMatch(/secret|draft|\*{9}/);
    await show(document);
    await page.keyboard.insertText(" more-of-it");
    expect(await told(document)).not.toMatch(/secret|more-of-it/);
    await page.close();
  });

  test("tells of no pointer, by which a keypad on the screen could be read", async () => {
    const document = await opened();
    await document.begin();
    await hide(document);
    await document.take();
    await document.page.click("#name");
    await document.page.mouse.move(5, 5, { steps: 5 });
    await document.page.fill("#name", "x");
    // Only the field's own change, whose text is hidden.
    expect(new Set(sourcesOf(await document.take()))).toEqual(new Set([5]));
    await show(document);
    await document.page.click("#later");
    expect(sourcesOf(await document.take())).toContain(2);
    await document.page.close();
  });

  test("that was told too late gives nothing of before, and knows no field that nobody has typed in", async () => {
    const document = await opened();
    await document.begin();
    await document.page.fill("#name", "secret-name");
    expect(await hide(document, "0")).toBe("");
    await show(document);
    expect(await told(document)).not.toMatch(/secret|before|kept/);
    await document.page.close();
  });

  test("that nobody has used yet is recorded as a whole, with nothing of what is typed", async () => {
    const document = await opened();
    expect(await hide(document)).toContain("svc.still");
    await document.page.evaluate(`document.querySelector("#name").value = "secret-name"`);
    expect(await told(document)).not.toContain("secret");
    await show(document);
    expect(await told(document)).not.toContain("secret");
    await document.page.close();
  });

  test("hides what is typed in a frame of its origin", async () => {
    const document = await opened(`<iframe srcdoc="<input id=in>"></iframe>`);
    await document.begin();
    await hide(document);
    const field = document.page.frameLocator("iframe").locator("#in");
    await field.fill("secret-inside");
    await show(document);
    const lines = await told(document);
    expect(lines).toContain("********");
    expect(lines).not.toContain("secret");
    await document.page.close();
  });

  test("with the mask all hides no less", async () => {
    const document = await opened(FORM, "all");
    await document.begin();
    await hide(document);
    await document.page.focus("#note");
    await document.page.keyboard.insertText("secret-note");
    expect(await told(document)).not.toMatch(/secret|draft|shown|\*{9}/);
    await document.page.close();
  });

  test("takes no picture of a canvas, then and later", async () => {
    const draw = `c.getContext("2d").fillStyle = "red"; c.getContext("2d").fillRect(0, 0, 50, 50)`;
    const document = await opened(
      `<canvas id=c width=50 height=50></canvas><script>${draw}</script>`,
    );
    await document.begin();
    expect(await document.take()).toContain("svc.picture");
    await hide(document);
    await document.page.evaluate(`${draw.replace("red", "blue")}`);
    expect(await document.take()).not.toContain("svc.picture");
    await show(document);
    await document.page.evaluate(`${draw.replace("red", "green")}`);
    expect(await document.take()).not.toContain("svc.picture");
    await document.page.close();
  });
});
