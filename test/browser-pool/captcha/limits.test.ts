import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CAPTCHA_LIMITS } from "../../../browser-pool/captcha/budget.ts";
import { missingKind } from "../../support/process/needs.ts";
import { byWire, firstPage } from "../clients.ts";
import { Rig } from "../rig.ts";
import { CaptchaSite } from "./pages.ts";
import { ProviderDouble } from "./provider-double.ts";

/** In place of two minutes; a captcha is given its token in three seconds when nothing is in the way. */
const PAGE_MS = 15_000;
/** The page's time is over first. */
const CALL_MS = 3 * PAGE_MS;
const OVER = "the time for this page is over";

describe.skipIf(await missingKind("stealth"))("the time that captchas of a page may take", () => {
  let rig: Rig;
  let site: CaptchaSite;
  let provider: ProviderDouble;
  let page: Page;

  beforeAll(async () => {
    site = await new CaptchaSite().start();
    provider = await new ProviderDouble().start();
    rig = await Rig.start({
      kind: "stealth",
      limits: { captchaLimits: { ...CAPTCHA_LIMITS, pageMs: PAGE_MS, callMs: CALL_MS } },
      env: {
        SVC_EGRESS_ALLOW: new URL(site.origin).host,
        SVC_LOG_LEVEL: "info",
        SVC_CAPTCHA_KEY: provider.key,
        SVC_CAPTCHA_URL: provider.url,
      },
    });
    await rig.warm();
    await rig.place("s", { captcha: true });
    page = firstPage(await byWire(rig, "s"));
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
    provider.stop();
  });
  beforeEach(() => provider.clear());

  const failures = (): string[] =>
    rig.stderr.split("\n").filter((line) => line.includes(`"captcha_failed"`));

  test("ends what is being solved, and nothing more of this page is paid for", async () => {
    provider.fault = "mute result";
    await page.goto(`${site.origin}/page/0`);
    await expect.poll(failures).toEqual([expect.stringContaining(OVER)]);
    // The call that the provider has not answered is given up.
    await expect.poll(() => provider.left).toBe(1);
    await page.evaluate(
      `document.body.innerHTML = '<div class="h-captcha" data-sitekey="late"></div>'`,
    );
    await expect.poll(failures).toHaveLength(2);
    expect(failures()[1]).toContain(OVER);
    expect(provider.tasks).toHaveLength(1);
  });

  test("begins anew with the next page", async () => {
    await page.goto(`${site.origin}/page/0`);
    await expect.poll(() => page.title()).toMatch(/^called TOKEN/);
    expect(provider.tasks).toHaveLength(1);
  });
});
