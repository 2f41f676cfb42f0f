import { type SessionCreated } from "@svc/contract/browser/session.ts";
import { type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CaptchaSite, PAGES } from "../browser-pool/captcha/pages.ts";
import { ProviderDouble, tokenOf } from "../browser-pool/captcha/provider-double.ts";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingKind } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RecordedCustomer, type Replay } from "../support/process/recorded.ts";

const FORM = "a reCAPTCHA by its class";
const AT = Object.keys(PAGES).indexOf(FORM);
const SITE_KEY = PAGES[FORM]?.siteKey ?? "";

describe.skipIf(await missingKind("stealth"))("captchas, by gateway and pool", () => {
  let site: CaptchaSite;
  let provider: ProviderDouble;
  let gateway: TestGateway;
  let pool: PoolProcess;
  let customer: RecordedCustomer;

  beforeAll(async () => {
    site = await new CaptchaSite().start();
    provider = await new ProviderDouble().start();
    gateway = await testGateway(PATIENT);
    customer = new RecordedCustomer(gateway, await gateway.newKey());
    pool = await PoolProcess.start(gateway, {
      SVC_EGRESS_ALLOW: new URL(site.origin).host,
      SVC_WARM_FAST: "0",
      SVC_WARM_STEALTH: "1",
      SVC_CAPTCHA_KEY: provider.key,
      SVC_CAPTCHA_URL: provider.url,
    });
  });
  afterAll(async () => {
    await pool.close();
    await gateway.close();
    provider.stop();
    site.stop();
  });
  beforeEach(() => provider.clear());

  const create = (): Promise<SessionCreated> => customer.create({ stealth: true, captcha: true });

  /** Shows the page with the form to a session, does something there, and ends the session. */
  async function shown(
    session: SessionCreated,
    look: (page: Page) => Promise<void>,
  ): Promise<Replay> {
    const browser = await chromium.connect(session.wsEndpoint);
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("the session has no page");
    await page.goto(`${site.origin}/page/${AT}?secret=1`);
    await look(page);
    await customer.release(session);
    await browser.close();
    return customer.replay(session);
  }
  /** What a replay says of captchas. */
  const linesOf = ({ events }: Replay) =>
    events.map(({ data }) => data).filter(({ tag }) => String(tag).startsWith("captcha."));

  test("are solved for a session that wishes it: its form has the token, its replay how it went", async () => {
    // The pool is chosen for it once its first heartbeat is heard.
    const session = await create();
    expect(session.captcha).toEqual({ active: true });
    const token = tokenOf({ type: "RecaptchaV2TaskProxyless", websiteKey: SITE_KEY });
    const replay = await shown(session, async (page) => {
      await expect.poll(() => page.title()).toBe(`called ${token}`);
      expect(await page.inputValue("[name=g-recaptcha-response]")).toBe(token);
    });
    expect(provider.tasks).toMatchObject([
      { websiteKey: SITE_KEY, websiteURL: `${site.origin}/page/${AT}` },
    ]);
    expect(linesOf(replay)).toMatchObject(
      ["captcha.detected", "captcha.solving", "captcha.solved"].map((tag) => ({
        tag,
        payload: { kind: "recaptcha", ms: expect.any(Number) },
      })),
    );
    expect(replay.text).not.toContain(provider.key);
  });

  test("are not solved with a key that the provider refuses: the replay says why, the next answer that none is", async () => {
    provider.fault = "ERROR_KEY_DOES_NOT_EXIST";
    const session = await create();
    const replay = await shown(session, async () => {
      await expect.poll(() => pool.recordedText()).toContain("captcha.failed");
    });
    expect(linesOf(replay)).toMatchObject([
      { tag: "captcha.detected" },
      { tag: "captcha.solving" },
      { tag: "captcha.failed", payload: { reason: "ERROR_KEY_DOES_NOT_EXIST" } },
    ]);
    const later = await create();
    expect(later.captcha).toEqual({ active: false });
    const { text } = await shown(later, async () => {});
    expect(text).not.toContain("captcha.");
  });
});
