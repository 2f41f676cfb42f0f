import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { SessionProfileSaved } from "@svc/contract/browser/profile.ts";
import { Handoff } from "@svc/contract/browser/take-over.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { mcpClient } from "../support/mcp-client.ts";
import { ACCOUNT, type LoginSite, startLoginSite } from "../support/process/login-site.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { openPersonsBrowser } from "../support/process/persons-browser.ts";
import { WatchingRig } from "../support/process/watching-rig.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
vi.setConfig({ testTimeout: 240_000 });

const site: LoginSite = await startLoginSite();
const rig = await WatchingRig.start({}, site);
afterAll(() => rig.close());

/** The place in the person's window of the middle of an element of the session's page. */
async function pointOf(page: Page, person: Page, selector: string) {
  const { x, y, width, height } = (await page.locator(selector).boundingBox()) ?? fail();
  const picture = (await person.locator("#picture").boundingBox()) ?? fail();
  const scale = picture.width / (page.viewportSize()?.width ?? fail());
  return { x: picture.x + (x + width / 2) * scale, y: picture.y + (y + height / 2) * scale };
}

function fail(): never {
  throw new Error("it is not there");
}

/** Waits until a field holds a text. */
const holds = (page: Page, selector: string, text: string): Promise<void> =>
  vi.waitFor(async () => expect(await page.inputValue(selector)).toBe(text), PATIENCE);

async function attached(cdpEndpoint: string): Promise<Page> {
  const browser = await chromium.connectOverCDP(cdpEndpoint);
  return browser.contexts()[0]?.pages()[0] ?? fail();
}

describe.skipIf(await missingBrowser())("a login that a person makes", () => {
  let theirs: Browser;
  beforeAll(async () => (theirs = await openPersonsBrowser()));
  afterAll(() => theirs?.close());
  let person: Page;
  const faults: string[] = [];
  afterEach(async () => {
    await person?.close();
    expect(faults.splice(0)).toEqual([]);
  });

  async function opened(liveUrl: string): Promise<Page> {
    person = await theirs.newPage({ viewport: { width: 1100, height: 800 } });
    person.on("pageerror", ({ message }) => faults.push(message));
    await person.goto(liveUrl);
    await person.locator("#done:enabled").waitFor(PATIENCE);
    return person;
  }

  async function begun(id: string, wish: object): Promise<HandoffBegun> {
    const answer = await rig.call(`/sessions/${id}/handoffs`, "POST", { body: wish });
    return HandoffBegun.parse(await answer.json());
  }

  async function ended(id: string, { handoff }: HandoffBegun): Promise<Handoff> {
    const path = `/sessions/${id}/handoffs/${handoff.id}?waitMs=${LIMITS.handoffWaitMs}`;
    return Handoff.parse(await (await rig.call(path)).json());
  }

  /** A session whose client is attached to its first page. */
  async function session(path: string, ask: object = {}) {
    const { sessionId: id, cdpEndpoint } = await rig.created({
      lease: { idleSeconds: 600 },
      ...ask,
    });
    const page = await attached(cdpEndpoint);
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.goto(site.url + path);
    return { id, page };
  }

  test("is kept: they click and type in a page of their own, and the next browser begins signed in", async () => {
    const made = await rig.call("/profiles", "POST", { body: { name: "ada" } });
    const { id: profileId } = (await made.json()) as { id: string };
    const { id, page } = await session("one", { profileId });
    const instructions = "Please sign in.\n<b>Not</b> as root.";
    const begunOne = await begun(id, { instructions, successUrl: `${site.url}home*` });
    await opened(begunOne.liveUrl);
    expect(person.url()).toBe(begunOne.liveUrl.split("#")[0]);
    await vi.waitFor(async () => {
      expect(await person.locator("#host").textContent()).toBe(site.address);
      expect(await person.locator("#instructions").textContent()).toBe(instructions);
    }, PATIENCE);
    // The picture of the form is there before it is clicked.
    await vi.waitFor(async () => expect(await whiteness(person)).toBeGreaterThan(0), PATIENCE);
    if (process.env.SVC_TEST_PICTURES)
      await person.screenshot({ path: `${process.env.SVC_TEST_PICTURES}/live.png` });
    const { x, y } = await pointOf(page, person, "#user");
    await person.mouse.click(x, y);
    // Nobody types faster than a browser takes it, but this test would.
    await person.keyboard.type(ACCOUNT.username);
    await holds(page, "#user", ACCOUNT.username);
    await person.keyboard.press("Tab");
    await person.keyboard.type(ACCOUNT.password);
    await holds(page, "#password", ACCOUNT.password);
    const go = await pointOf(page, person, "#go");
    await person.mouse.click(go.x, go.y);
    // The page that they come to ends the hand-off by itself.
    expect(await ended(id, begunOne)).toMatchObject({
      status: "completed",
      finalUrl: `${site.url}home`,
    });
    await person.locator("#over:visible").waitFor(PATIENCE);
    expect(await person.locator("#over-title").textContent()).toBe("Done");
    const saved = await rig.call(`/sessions/${id}/save-profile`, "POST", { body: {} });
    expect(SessionProfileSaved.parse(await saved.json())).toMatchObject({ profileId, version: 1 });
    await rig.release(id);
    const next = await session("home", { profileId });
    expect(await next.page.textContent("#who")).toBe("Signed in as Ada");
    await rig.release(next.id);
  });

  test("is given back by button and by keyboard alone, and cancelled by whoever asked", async () => {
    const { id, page } = await session("one");
    const first = await begun(id, {});
    await opened(first.liveUrl);
    await person.keyboard.type("ad");
    await holds(page, "#user", "ad");
    // Tab belongs to the page; F6 leads out of it.
    await person.keyboard.press("F6");
    await person.keyboard.press("Enter");
    expect((await ended(id, first)).status).toBe("completed");
    await person.locator("#over:visible").waitFor(PATIENCE);
    // Over is over, also for who opens the link again: the page loads itself anew for it.
    await person.evaluate(`location.assign(${JSON.stringify(first.liveUrl)})`);
    await expect.poll(() => person.url()).toBe(first.liveUrl.split("#")[0]);
    await person.locator("#over:visible").waitFor(PATIENCE);

    const second = await begun(id, {});
    await person.close();
    await opened(second.liveUrl);
    await rig.call(`/sessions/${id}/handoffs/${second.handoff.id}`, "DELETE");
    await person.locator("#over:visible").waitFor(PATIENCE);
    expect(await person.locator("#over-title").textContent()).toBe("Cancelled");
    await rig.release(id);
  });

  test("goes on after the gateway was away, and nobody else sees it", async () => {
    const { id } = await session("one");
    const asked = await begun(id, {});
    await opened(asked.liveUrl);
    await rig.gateway.close();
    await person.locator("#done:disabled").waitFor(PATIENCE);
    await rig.restartGateway();
    await person.locator("#done:enabled").waitFor(PATIENCE);
    const observer = await rig.watch(id);
    await observer.until(({ texts }) =>
      texts.some((told) => told.type === "state" && told.handoff === "active"),
    );
    expect(observer.frames).toEqual([]);
    await person.locator("#cancel").click();
    expect((await ended(id, asked)).status).toBe("cancelled");
    await observer.until(({ frames }) => frames.length > 0);
    await rig.release(id);
  });

  test("is asked for and waited for by tools, which are refused meanwhile", async () => {
    const made = await rig.call("/profiles", "POST", { body: { name: "by tools" } });
    const { id: profileId } = (await made.json()) as { id: string };
    const { sessionId } = await rig.created({ lease: { idleSeconds: 600 }, profileId });
    await using tools = await mcpClient({ url: rig.gateway.url, key: rig.key });
    await using others = await mcpClient({ url: rig.gateway.url, key: rig.key });
    const none = await tools.call("svc_browser_await_login", { sessionId });
    expect(none.text).toMatch(/^NoHandoff/);
    const asked = await tools.call("svc_browser_login", { sessionId, url: `${site.url}one` });
    expect(asked.json).toMatchObject({ status: "pending", liveUrl: expect.any(String) });
    const refused = await tools.call("svc_browser_autologin_site", { sessionId, site: "a.test" });
    expect(refused.text).toMatch(/^HandoffActive/);
    const waited = { sessionId, timeoutSeconds: 1 };
    const soon = await tools.call("svc_browser_await_login", waited);
    expect(soon.json).toEqual({ status: "pending" });
    await opened(String(asked.json["liveUrl"]));
    const host = person.locator("#host", { hasText: site.address });
    await host.waitFor(PATIENCE);
    await person.locator("#done").click();
    // However many wait, what the person did is saved once.
    const waiting = [tools, others].map((one) =>
      one.call("svc_browser_await_login", { sessionId }),
    );
    const answers = await Promise.all(waiting);
    answers.push(await tools.call("svc_browser_await_login", { sessionId }));
    const where = { url: `${site.url}one`, title: "Sign in" };
    for (const { structured } of answers)
      expect(structured).toEqual({ status: "completed", ...where, profileId, version: 1 });
    const versions = await rig.call(`/profiles/${profileId}/versions`);
    expect(await versions.json()).toMatchObject({ versions: [{ version: 1 }] });
    await rig.release(sessionId);
  });

  test("ends by its URL also when they have closed their page before", async () => {
    const { id, page } = await session("one");
    const asked = await begun(id, { successUrl: "http://*/home" });
    await opened(asked.liveUrl);
    await person.close();
    await page.fill("#user", ACCOUNT.username);
    await page.fill("#password", ACCOUNT.password);
    await page.click("#go");
    expect(await ended(id, asked)).toMatchObject({ status: "completed" });
    await rig.release(id);
  });
});

/** How much of the picture is white: nothing before its first frame. */
const whiteness = (person: Page): Promise<number> =>
  person.evaluate(`[...picture.getContext("2d").getImageData(0, 0, 64, 64).data]
    .filter((value, at) => at % 4 < 3 && value > 250).length`);
