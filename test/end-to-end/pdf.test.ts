// PDFs in replays: of the kind of browser that shows them there are pictures.
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingKind } from "../support/process/needs.ts";
import { openPersonsBrowser } from "../support/process/persons-browser.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RecordedCustomer, startEchoSite } from "../support/process/recorded.ts";
import { startPdfSite } from "../support/process/pdf-site.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
vi.setConfig({ testTimeout: 400_000 });

const site = await startEchoSite();
const pdfs = await startPdfSite();
const ELEMENTS = {
  embed: `<embed src="${pdfs.url}" type="application/pdf" width=500 height=400>`,
  object: `<object data="${pdfs.url}" type="application/pdf" width=500 height=400></object>`,
  iframe: `<iframe src="${pdfs.url}" width=500 height=400></iframe>`,
};
const AT_PDF = /^\{"type":4,"data":\{"href":"http[^"]*\.pdf".*"frameId":"(\w+)"/;
let gateway: TestGateway;
let viewer: Browser;
let pool: PoolProcess;
let customer: RecordedCustomer;

/** Whether a picture is red near its top, as the PDF is. */
const IS_RED = `async (url) => {
  const image = new Image();
  image.src = url;
  await image.decode();
  const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
  pen.drawImage(image, 0, 0);
  const [r, g, b] = pen.getImageData(image.width / 2, image.height / 8, 1, 1).data;
  return r > 200 && g < 60 && b < 60;
}`;

/** Whether the PDF that the player shows is there, as large as it was, and red. */
const isRed = (player: Page): Promise<unknown> =>
  player.evaluate(`(async () => {
    const shown = document.querySelector(".replayer-wrapper iframe")?.contentDocument;
    const pdf = shown?.querySelector("embed");
    const [, url] = /url\\("([^"]+)"\\)/.exec(pdf?.style.backgroundImage ?? "") ?? [];
    return !!url && pdf.getBoundingClientRect().width >= 400 && (${IS_RED})(url);
  })()`);

async function opened(kind: BrowserKind) {
  const session = await customer.create({ stealth: kind === "stealth" });
  const browser = await chromium.connect(session.wsEndpoint);
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error("a new session has a page");
  const end = async () => {
    await customer.release(session);
    await browser.close();
    return customer.replay(session);
  };
  return { page, end };
}

/** Waits until the picture of the PDF, which is empty at first, is on the pool's disk: one of a frame that is at its URL. */
async function pictured(): Promise<void> {
  const page = await viewer.newPage();
  const isThere = async (): Promise<boolean> => {
    const lines = (await pool.recordedText()).split("\n");
    const frames = lines.flatMap((line) => AT_PDF.exec(line)?.[1] ?? []);
    const isOf = (line: string) => frames.some((frame) => line.includes(`"frameId":"${frame}"`));
    const pictures = lines.filter((line) => line.includes('"svc.picture"') && isOf(line));
    const [url] = pictures.flatMap((line) => /"data:image[^"]+"/.exec(line) ?? []).slice(-1);
    return url !== undefined && (await page.evaluate(`(${IS_RED})(${url})`)) === true;
  };
  await expect.poll(isThere, PATIENCE).toBe(true);
  await page.close();
}

async function begin(kind: BrowserKind): Promise<void> {
  pool = await PoolProcess.start(gateway, {
    SVC_EGRESS_ALLOW: `${site.addresses},${pdfs.addresses}`,
    SVC_WARM_FAST: kind === "fast" ? "1" : "0",
    SVC_WARM_STEALTH: kind === "stealth" ? "1" : "0",
  });
}

beforeAll(async () => {
  gateway = await testGateway(PATIENT);
  viewer = await openPersonsBrowser();
  customer = new RecordedCustomer(gateway, await gateway.newKey());
});
afterAll(async () => {
  await viewer.close();
  await gateway.close();
  site.close();
  pdfs.close();
});

describe.skipIf(await missingKind("fast"))("in the replay of a fast session", () => {
  beforeAll(() => begin("fast"));
  afterAll(() => pool.close());

  test("there is no PDF: such a browser downloads one, and shows nothing where a page has one", async () => {
    const { page, end } = await opened("fast");
    const download = page.waitForEvent("download");
    await expect(page.goto(pdfs.url)).rejects.toThrow("Download is starting");
    expect((await download).url()).toBe(pdfs.url);
    await page.goto(site.page(`<h1>words above</h1>${ELEMENTS.embed}`));
    const { text, url } = await end();
    expect(text).not.toContain("svc.picture");
    const player = await viewer.newPage();
    await player.goto(url.playerUrl);
    const frame = player.frameLocator(".replayer-wrapper iframe");
    await frame.getByText("words above").waitFor();
    expect((await frame.locator("embed").boundingBox())?.width).toBeGreaterThan(100);
    await player.close();
  });
});

describe.skipIf(await missingKind("stealth"))("in the replay of a stealth session", () => {
  beforeAll(() => begin("stealth"));
  afterAll(() => pool.close());

  test.each([
    ["a page of its own", pdfs.url],
    ...Object.entries(ELEMENTS).map(([name, html]) => [name, site.page(`<h1>above</h1>${html}`)]),
  ])("a PDF in %s has a picture", async (name, at) => {
    const { page, end } = await opened("stealth");
    await page.goto(at);
    await pictured();
    const { url } = await end();
    const player = await viewer.newPage();
    await player.goto(url.playerUrl);
    // The viewer has another frame around it.
    await player
      .getByRole("tab", { name: /^↳ .*a\.pdf$/ })
      .last()
      .click();
    // The session may have been a long one: the end is what counts.
    const bar = await player.locator(".rr-progress").boundingBox();
    if (!bar) throw new Error("the player has no time line");
    await player.mouse.click(bar.x + bar.width * 0.98, bar.y + bar.height / 2);
    await expect.poll(() => isRed(player), PATIENCE).toBe(true);
    if (process.env.SVC_KEEP_SCREENSHOT)
      await player.screenshot({ path: `${process.env.SVC_KEEP_SCREENSHOT}-${name}.png` });
    await player.close();
  });
});
