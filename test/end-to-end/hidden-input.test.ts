import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { AutologinResult } from "@svc/contract/browser/autologin.ts";
import { ConsoleToken } from "@svc/contract/browser/login.ts";
import { Profile } from "@svc/contract/browser/profile.ts";
import { type Page, chromium } from "playwright-core";
import { afterAll, describe, expect, test, vi } from "vitest";
import { ACCOUNT, type LoginSite, startLoginSite } from "../support/process/login-site.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { Observer } from "../support/process/observer.ts";
import { RecordedCustomer } from "../support/process/recorded.ts";
import { WatchingRig } from "../support/process/watching-rig.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
vi.setConfig({ testTimeout: 240_000 });
const SITE = "127.0.0.1";

const site: LoginSite = await startLoginSite();
const rig = await WatchingRig.start({}, site);
afterAll(() => rig.close());
const customer = new RecordedCustomer(rig.gateway, rig.key);

async function recorded(ask: object = {}) {
  const session = await customer.create({ lease: { idleSeconds: 600 }, ...ask });
  const browser = await chromium.connectOverCDP(session.cdpEndpoint);
  const [context] = browser.contexts();
  const [page] = context?.pages() ?? [];
  if (!page || !context) throw new Error("a new session has a page");
  return { session, id: session.sessionId, page, context };
}

/** The person who comes for a hand-off that is asked for. */
async function handedOff(id: string): Promise<Observer> {
  const answer = await customer.call(`/sessions/${id}/handoffs`, "POST", {});
  HandoffBegun.parse(await answer.json());
  const person = await Observer.open((await rig.liveToken(id)).url);
  await person.until(({ last }) => last !== undefined);
  return person;
}

/** Types into a field that has the focus, and waits until it is there. */
async function types(person: Observer, page: Page, text: string): Promise<void> {
  await page.focus("#user");
  person.send({ type: "text", text });
  await vi.waitFor(async () => expect(await page.inputValue("#user")).toBe(text), PATIENCE);
}

async function ended(id: string, person: Observer): Promise<void> {
  person.send({ type: "handoff", action: "done" });
  const over = async () => expect((await rig.read(id)).handoff?.status).toBe("completed");
  await vi.waitFor(over, PATIENCE);
}

/** The tabs in which what is recorded so far has a text that was typed. */
async function tabsWith(typed: string): Promise<Set<string | undefined>> {
  const lines = (await rig.pool.recordedText()).split("\n");
  const found = lines.filter((line) => line.includes(`"text":"${typed}"`));
  return new Set(found.map((line) => /"tabId":"(\w+)"/.exec(line)?.[1]));
}

describe.skipIf(await missingBrowser())("a recording of somebody who signs in", () => {
  test("has nothing of what they type, in any document, and what is typed before and after", async () => {
    const { session, id, page, context } = await recorded();
    await page.goto(`${site.url}one`);
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement("input"), { id: "other" }))`,
    );
    await page.fill("#other", "typed-before");
    const person = await handedOff(id);
    await types(person, page, "typed-first");
    await page.reload();
    await types(person, page, "typed-again");
    const opening = context.waitForEvent("page");
    person.send({ type: "tab", action: "new" });
    const second = await opening;
    await person.until(({ pages, last }) => pages.length === 2 && last?.head.page === pages[1]?.id);
    person.send({ type: "nav", action: "goto", url: `${site.url}two` });
    await second.waitForURL(`${site.url}two`);
    await second.waitForSelector("#user");
    await types(person, second, "typed-elsewhere");
    await ended(id, person);
    // The field keeps its text, and is looked at with the next snapshot of each document.
    for (const each of [page, second]) {
      await each.evaluate(
        `document.body.append(Object.assign(document.createElement("input"), { id: "later" }))`,
      );
      const before = (await tabsWith("typed-after")).size;
      // The pool hears a moment after the session that nothing is hidden any more.
      await vi.waitFor(async () => {
        await each.fill("#later", "");
        await each.fill("#later", "typed-after");
        expect((await tabsWith("typed-after")).size).toBeGreaterThan(before);
      }, PATIENCE);
    }
    await rig.release(id);
    const { text, events } = await customer.replay(session);
    expect(text).toContain("typed-before");
    for (const typed of ["typed-first", "typed-again", "typed-elsewhere"])
      expect(text).not.toContain(typed);
    const shown = events.filter(({ data }) => data["text"] === "typed-after");
    expect(new Set(shown.map(({ tabId }) => tabId)).size).toBe(2);
    expect(events.some(({ data }) => data["text"] === "********")).toBe(true);
  });

  test("has not the name that the service signs in with", async () => {
    const made = await rig.call("/profiles", "POST", { body: { name: "ada" } });
    const { id: profileId } = Profile.parse(await made.json());
    const minted = await rig.call("/console/api/token", "POST");
    const { token: bearer } = ConsoleToken.parse(await minted.json());
    const { username, password } = ACCOUNT;
    // A form that takes no answer: what is typed stays in the page until the run is over.
    const login = { loginUrl: `${site.url}deaf`, username, password };
    const put = `/console/api/logins/${profileId}/${SITE}`;
    expect((await rig.call(put, "PUT", { bearer, body: login })).status).toBe(200);
    const { session, id, page } = await recorded({ profileId });
    const running = rig.call(`/sessions/${id}/autologin`, "POST", {
      body: { site: SITE, timeoutSeconds: 120 },
    });
    const hasTyped = async () => expect(await page.inputValue("#user")).toBe(username);
    await vi.waitFor(hasTyped, PATIENCE);
    expect(AutologinResult.parse(await (await running).json()).status).not.toBe("logged_in");
    await rig.release(id);
    const { text } = await customer.replay(session);
    expect(text).not.toContain(username);
    expect(text).toContain("********");
  });
});
