import { type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LivePageRig, PATIENCE, has } from "../support/process/live-page-rig.ts";

/** The page's tabs and its link to the session: who has it, for how long, and what comes between. */
export function linkCases(rigOf: () => LivePageRig): void {
  let rig: LivePageRig;
  let person: Page;
  beforeAll(async () => {
    rig = rigOf();
    person = await rig.person("fields");
  });
  afterAll(() => rig.end(person));

  const liveUrl = (): string => rig.begun?.liveUrl ?? "";
  const bareUrl = (): string => liveUrl().split("#")[0] ?? "";
  const note = (page: Page) => () => page.locator("#note").textContent();
  const end = (page: Page) => () => page.locator("#over-title").textContent();

  test("a tab can be chosen while its title never rests, and its title is plain text", async () => {
    const second = await rig.page.context().newPage();
    await second.goto(`${rig.site.url}restless`);
    const button = person.locator("#tabs button", { hasText: /^<i>\d+$/ });
    await button.waitFor(PATIENCE);
    await button.focus();
    const before = await button.textContent();
    await expect.poll(() => button.textContent()).not.toBe(before);
    expect(await person.evaluate("document.activeElement.textContent")).toMatch(/^<i>/);
    await person.locator("#tabs button", { hasText: "Fields" }).click();
    await person
      .locator('#tabs button[aria-current="true"]', { hasText: "Fields" })
      .waitFor(PATIENCE);
    await second.close();
    await person.locator("#tabs").waitFor({ ...PATIENCE, state: "hidden" });
  });

  test("a page of no site is told as what it is, not as a blank one", async () => {
    const host = () => person.locator("#host").textContent();
    await rig.page.goto("data:text/html,<h1>Your bank</h1>");
    await expect.poll(host).toBe("no site (data:)");
    await rig.page.goto("about:blank");
    await expect.poll(host).toBe("a blank page");
    // A name before the host is as long as a page likes.
    await rig.page.goto(rig.site.url.replace("//", `//${"your-bank.test.".repeat(200)}@`));
    await expect.poll(host).toBe(rig.site.address);
    await rig.show("fields", person);
  });

  test("a reload keeps the token, which stands in no address bar", async () => {
    expect(person.url()).toBe(bareUrl());
    await person.reload();
    await has(person);
    await rig.show("fields", person);
    await rig.click("#one", person);
    await person.keyboard.type("again");
    await expect.poll(() => rig.page.inputValue("#one")).toBe("again");
    // The same link in the same tab: nothing is loaded for it but what the page does.
    await person.evaluate(`location.assign(${JSON.stringify(liveUrl())})`);
    await expect.poll(() => person.url()).toBe(bareUrl());
    await has(person);
  });

  test("who has the page's address alone is let in nowhere", async () => {
    const stranger = await rig.window(bareUrl());
    expect(await end(stranger)()).toBe("The time is over");
    await stranger.context().close();
  });

  test("a second person is told why they wait, and comes in when the first has left", async () => {
    const second = await rig.window(liveUrl());
    await expect.poll(note(second)).toMatch(/^Somebody else has this browser/);
    expect(await second.locator("#done").isEnabled()).toBe(false);
    await person.context().close();
    person = second;
    await has(person);
    await expect.poll(note(person)).toBe("");
  });

  test("a clock that is wrong ends nothing", async () => {
    await person.context().close();
    person = await rig.window("about:blank");
    await person.clock.setFixedTime(Date.now() + 86_400_000);
    await person.goto(liveUrl());
    await has(person);
    expect(await person.evaluate("Date.now()")).toBeGreaterThan(Date.now() + 80_000_000);
  });

  test("a link whose time is over says so, to who has it open and to who opens it", async () => {
    const { id, person: other } = rig.brief;
    await expect.poll(end(other)).toBe("The time is over");
    await other.reload();
    await expect.poll(end(other)).toBe("The time is over");
    await other.context().close();
    await rig.watching.release(id);
  });

  test("a lost connection takes the page's question with it, and the page goes on", async () => {
    const { id, cdpEndpoint, page } = await rig.another();
    const { liveUrl: url } = await rig.begin({}, id);
    const other = await rig.window(url);
    await has(other);
    await rig.show("asks", other, page);
    await rig.click("#confirms", other, page);
    await other.locator("#dialog[open]").waitFor(PATIENCE);
    await rig.watching.gateway.close();
    await other.locator("#done:disabled").waitFor(PATIENCE);
    await rig.watching.restartGateway();
    await has(other);
    expect(await other.locator("#dialog").isVisible()).toBe(false);
    const again = await chromium.connectOverCDP(cdpEndpoint);
    expect(await again.contexts()[0]?.pages()[0]?.evaluate("told")).toBe(false);
    await rig.watching.release(id);
    await expect.poll(end(other)).toBe("The browser is gone");
    await other.context().close();
  });
}
