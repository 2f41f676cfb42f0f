import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser, missingStealth } from "../../support/process/needs.ts";
import { byCdp, byWire, firstPage } from "../clients.ts";
import { Rig } from "../rig.ts";
import { type CaptchaPage, CaptchaSite, PAGES } from "./pages.ts";
import { ProviderDouble, tokenOf } from "./provider-double.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
const SOON = { timeout: 100_000 };
const FORMS = Object.entries(PAGES).map(([name, page], at) => ({ name, page, at }));

describe.skipIf(isMissing)("a session with captchas solved", { timeout: 240_000 }, () => {
  let rig: Rig;
  let site: CaptchaSite;
  let provider: ProviderDouble;
  let id = "c0";
  let count = 0;

  beforeAll(async () => {
    site = await new CaptchaSite().start();
    provider = await new ProviderDouble().start();
    rig = await Rig.start({
      kind: "stealth",
      env: {
        SVC_EGRESS_ALLOW: new URL(site.origin).host,
        SVC_LOG_LEVEL: "info",
        SVC_CAPTCHA_KEY: provider.key,
        SVC_CAPTCHA_URL: provider.url,
      },
    });
    await rig.warm();
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
    provider.stop();
  });
  beforeEach(() => {
    count += 1;
    id = `c${count}`;
    provider.clear();
    site.more.clear();
  });
  afterEach(() => rig.delete(id));

  async function session(): Promise<Page> {
    const placed = await rig.place(id, { captcha: true });
    expect(placed.captcha).toEqual({ active: true });
    return firstPage(await byWire(rig, id));
  }
  const called = async (page: Page): Promise<string> => {
    await page.waitForFunction(`document.title.startsWith("called")`, null, SOON);
    return page.title();
  };
  const solved = ({ kind, siteKey }: CaptchaPage, path: string) => {
    const [task] = provider.tasks;
    expect(provider.tasks).toHaveLength(1);
    expect(task?.type.toLowerCase()).toContain(kind);
    expect(task).toMatchObject({ websiteKey: siteKey, websiteURL: `${site.origin}${path}` });
    return task ? `called ${tokenOf(task)}` : "";
  };
  const logOf = (event: string): string[] =>
    rig.stderr.split("\n").filter((line) => line.includes(`"${event}"`));

  test.each(FORMS)("solves $name", async ({ page: form, at }) => {
    const page = await session();
    await page.goto(`${site.origin}/page/${at}?secret=1#2`);
    const title = await called(page);
    expect(title).toBe(solved(form, `/page/${at}`));
    const values = await page.evaluate<string[]>(
      `[...document.querySelectorAll("[name$=-response]")].map(({ value }) => value)`,
    );
    for (const value of values) expect(`called ${value}`).toBe(title);
    expect(rig.stderr).not.toContain(provider.key);
  });

  test("solves in popups, in frames, and for raw clients", async () => {
    await rig.place(id, { captcha: true });
    const browser = await byCdp(rig, id);
    const page = firstPage(browser);
    const elsewhere = site.origin.replace("127.0.0.1", "localhost");
    site.more.set("/framed", `<iframe src="${elsewhere}/page/2"></iframe>`);
    await page.goto(`${site.origin}/framed`);
    await expect.poll(() => page.frames()[1]?.title(), SOON).toMatch(/^called/);
    const opened = page.waitForEvent("popup");
    await page.evaluate(`void window.open("/page/3")`);
    expect(await called(await opened)).toMatch(/^called TOKEN/);
    await browser.close();
  });

  test("leaves a captcha alone that is answered, or gives scores to pages", async () => {
    const widget = `<div class="g-recaptcha" data-sitekey="6L-a"></div>`;
    site.more.set("/answered", `${widget}<textarea name="g-recaptcha-response">mine</textarea>`);
    site.more.set(
      "/scored",
      `${widget.replace("6L-a", "6L-b")}<script src="/recaptcha/api.js?render=6L-b"></script>`,
    );
    const page = await session();
    await page.goto(`${site.origin}/answered`);
    await page.goto(`${site.origin}/scored`);
    // It is looked for captchas in the order in which documents come.
    await page.goto(`${site.origin}/page/0`);
    await called(page);
    expect(provider.tasks).toMatchObject([{ websiteURL: `${site.origin}/page/0` }]);
  });

  test("without the wish has none solved, and a fast session is refused the wish", async () => {
    const placed = await rig.place(id);
    expect(placed.captcha).toBeUndefined();
    const page = firstPage(await byWire(rig, id));
    await page.goto(`${site.origin}/page/0`);
    expect((await rig.put("fast", { kind: "fast", captcha: true })).status).toBe(501);
    await rig.delete(id);
    id = "next";
    const other = await session();
    await other.goto(`${site.origin}/page/1`);
    await called(other);
    expect(provider.tasks).toMatchObject([{ websiteURL: `${site.origin}/page/1` }]);
  });

  test("tries a captcha three times at most, and says why it is not solved", async () => {
    provider.fault = "ERROR_CAPTCHA_UNSOLVABLE";
    const page = await session();
    await page.goto(`${site.origin}/page/0`);
    await expect.poll(() => logOf("captcha_failed").length, SOON).toBeGreaterThan(0);
    expect(provider.calls).toEqual(["createTask", "createTask", "createTask"]);
    expect(logOf("captcha_failed").at(-1)).toContain("ERROR_CAPTCHA_UNSOLVABLE");
  });

  test("pays three tasks for a page that makes widgets without end, and twenty for one that loads itself again", async () => {
    const before = logOf("captcha_detected").length;
    site.more.set(
      "/forging",
      `<script>let n = 0; setInterval(() => { for (let i = 0; i < 20; i += 1) {
        const at = document.body.appendChild(document.createElement("div"));
        at.className = "h-captcha"; at.dataset.sitekey = "k-" + Math.random().toString(36).slice(2);
      } }, 50); setTimeout(() => location.reload(), 900)</script><body>`,
    );
    const page = await session();
    await page.goto(`${site.origin}/forging`, { waitUntil: "commit" });
    await expect.poll(() => provider.tasks.length, SOON).toBe(20);
    let loads = 0;
    page.on("load", () => (loads += 1));
    await expect.poll(() => loads, SOON).toBeGreaterThan(2);
    expect(provider.tasks).toHaveLength(20);
    expect(logOf("captcha_detected").length - before).toBeLessThanOrEqual(200);
  });

  test("gives up what is being solved when it ends", async () => {
    provider.fault = "mute result";
    const page = await session();
    await page.goto(`${site.origin}/page/0`);
    await expect.poll(() => provider.calls, SOON).toContain("getTaskResult");
    await rig.delete(id);
    await expect.poll(() => provider.left, SOON).toBe(1);
    expect(provider.tasks).toHaveLength(1);
  });

  test("gives no token to the document that comes after", async () => {
    const page = await session();
    await page.goto(`${site.origin}/page/0`);
    await expect.poll(() => provider.tasks.length, SOON).toBe(1);
    site.more.set("/after", `<textarea name="g-recaptcha-response"></textarea>`);
    await page.goto(`${site.origin}/after`);
    await expect.poll(() => logOf("captcha_failed").at(-1), SOON).toContain("the page has gone");
    expect(await page.inputValue("textarea")).toBe("");
  });

  test("is not seen by a page that watches what it is asked for", async () => {
    const page = await session();
    await page.goto(site.origin);
    site.more.set(
      "/watching",
      await readFile(new URL("watching-page.html", import.meta.url), "utf8"),
    );
    await page.goto(`${site.origin}/watching`);
    // Asked for by a world of its own: Playwright would be seen to wait for a function.
    await expect.poll(() => page.title(), SOON).toBe("called back");
    expect(await page.evaluate("seen")).toEqual([]);
  });
});
