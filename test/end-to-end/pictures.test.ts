import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingKind } from "../support/process/needs.ts";
import { openPersonsBrowser } from "../support/process/persons-browser.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RecordedCustomer, type ReplayEvent, startEchoSite } from "../support/process/recorded.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
vi.setConfig({ testTimeout: 400_000 });
const RED = "255,0,0";
const GREEN = "0,128,0";
const BLUE = "0,0,255";
const painted = (colour: string): string => `<canvas id=c width=400 height=200></canvas>
  <script>const pen = c.getContext("2d");
  const paint = (colour) => { pen.fillStyle = colour; pen.fillRect(0, 0, 400, 200) };
  paint("${colour}")</script>`;
/** Draws with WebGL in every frame, which keeps nothing of it for the next one. */
const WEBGL = `<canvas id=gl width=400 height=200></canvas><script>
  const context = gl.getContext("webgl");
  const draw = () => {
    context.clearColor(0, 0, 1, 1);
    context.clear(context.COLOR_BUFFER_BIT);
    requestAnimationFrame(draw);
  };
  draw()</script>`;

const site = await startEchoSite();
let gateway: TestGateway;
let viewer: Browser;

/** The colour in the middle of a canvas that the player shows; near enough, as a picture has it. */
async function colourShown(page: Page, near: string, id = "c"): Promise<string> {
  const shown = await page.evaluate(`(() => {
    const frame = document.querySelector(".replayer-wrapper iframe");
    const canvas = frame?.contentDocument?.querySelector("#${id}");
    const [, url] = /url\\("([^"]+)"\\)/.exec(canvas?.style.content ?? "") ?? [];
    // The canvas is to be seen, as large as it was.
    const { width, height } = canvas?.getBoundingClientRect() ?? {};
    if (!url || Math.abs(width - 400) > 4 || Math.abs(height - 200) > 4) return [width, height];
    const image = new Image();
    image.src = url;
    return image.decode().then(() => {
      const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
      pen.drawImage(image, 0, 0);
      return [...pen.getImageData(image.width / 2, image.height / 2, 1, 1).data].slice(0, 3);
    });
  })()`);
  const wanted = near.split(",").map(Number);
  const values = shown as number[];
  const isNear = values.length === 3 && values.every((v, n) => Math.abs(v - (wanted[n] ?? 0)) < 20);
  return isNear ? near : String(values);
}

/** The part of the time line of the tab that is over at a moment. */
function partAt(events: ReplayEvent[], moment: number): number {
  const own = events.filter(({ tabId, frameId }) => tabId !== undefined && frameId === undefined);
  const times = own.map(({ timestamp }) => timestamp);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  return (moment - first) / (last - first);
}

describe.skipIf(await missingKind("fast"))("pictures of canvases in a replay", () => {
  beforeAll(async () => {
    gateway = await testGateway(PATIENT);
    viewer = await openPersonsBrowser();
  });
  afterAll(async () => {
    await viewer.close();
    await gateway.close();
    site.close();
  });

  test.each(["fast", "stealth"] as const)(
    "of a %s session are shown to the last one, those of WebGL too, before it after a leap back, and in a frame of another origin",
    async (kind) => {
      if (await missingKind(kind)) return;
      const pool = await PoolProcess.start(gateway, {
        SVC_EGRESS_ALLOW: site.addresses,
        SVC_WARM_FAST: kind === "fast" ? "1" : "0",
        SVC_WARM_STEALTH: kind === "stealth" ? "1" : "0",
      });
      const customer = new RecordedCustomer(gateway, await gateway.newKey());
      const session = await customer.create({ stealth: kind === "stealth" });
      const browser = await chromium.connect(session.wsEndpoint);
      const recorded = browser.contexts()[0]?.pages()[0];
      const frame = `<iframe src="${site.page(painted("red"), "localhost")}"></iframe>`;
      await recorded?.goto(site.page(`<h1>words above</h1>${painted("red")}${WEBGL}${frame}`));
      // That of WebGL is taken in one of the frames in which it is drawn, on a slow computer of the later ones.
      const told = async () => (await pool.recordedText()).split('"data:image/webp').length - 1;
      await expect.poll(told, PATIENCE).toBeGreaterThanOrEqual(3);
      const redAt = Date.now();
      const before = await told();
      // A change right before the end is there too; a stealth browser on a busy computer takes longer than a release waits.
      await recorded?.evaluate(`paint("green")`);
      await expect.poll(told, PATIENCE).toBeGreaterThan(kind === "stealth" ? before : before - 1);
      await customer.release(session);
      const { url, events } = await customer.replay(session);
      await browser.close();
      await pool.close();

      const page = await viewer.newPage();
      await page.goto(url.playerUrl);
      await expect.poll(() => colourShown(page, GREEN), PATIENCE).toBe(GREEN);
      await expect.poll(() => colourShown(page, BLUE, "gl"), PATIENCE).toBe(BLUE);
      if (process.env.SVC_KEEP_SCREENSHOT)
        await page.screenshot({ path: process.env.SVC_KEEP_SCREENSHOT });
      const bar = await page.locator(".rr-progress").boundingBox();
      if (!bar) throw new Error("the player has no time line");
      const click = (part: number) =>
        page.mouse.click(bar.x + bar.width * part, bar.y + bar.height / 2);
      await page.locator(".rr-controller__btns button").first().click();
      await click(partAt(events, redAt));
      await expect.poll(() => colourShown(page, RED), PATIENCE).toBe(RED);
      await page.getByRole("tab").nth(1).click();
      await expect.poll(() => colourShown(page, RED), PATIENCE).toBe(RED);
      await page.close();
    },
  );
});
