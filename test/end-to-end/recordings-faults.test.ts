import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionCreated } from "@svc/contract/browser/session.ts";
import { type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { killIfThere } from "../support/process/process-tree.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RecordedCustomer, startEchoSite } from "../support/process/recorded.ts";

const site = await startEchoSite();
const strictSite = await startEchoSite({
  "content-security-policy":
    "default-src 'none'; script-src 'unsafe-inline'; sandbox allow-scripts",
});
const SVC_EGRESS_ALLOW = `${site.addresses},${strictSite.addresses}`;
const CLOCKS_MS = 1_000;
/** A store that was away is tried again after up to half a minute, on a busy machine more than once. */
const RECOVERED_MS = 120_000;
vi.setConfig({ testTimeout: 400_000 });
let stateDir: string;
let gateway: TestGateway;
let pool: PoolProcess;
let customer: RecordedCustomer;

beforeAll(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "svc-recordings-"));
  gateway = await testGateway(PATIENT, { port: 0, stateDir });
  pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW, SVC_WARM_FAST: "1" });
  customer = new RecordedCustomer(gateway, await gateway.newKey());
});
afterAll(async () => {
  await pool.close();
  await gateway.close();
  await rm(stateDir, { recursive: true, force: true });
  site.close();
  strictSite.close();
});

async function open(ask: object = {}): Promise<{ session: SessionCreated; page: Page }> {
  const session = await customer.create(ask);
  const browser = await chromium.connect(session.wsEndpoint);
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error("a new session has a page");
  return { session, page };
}

/** The replay of a session of one page. */
async function recorded(work: (page: Page) => Promise<unknown>, ask: object = {}) {
  const { session, page } = await open(ask);
  await work(page);
  await customer.release(session);
  return customer.replay(session);
}

const PAGES = 20;

/** Of pages that change right before the next one, those whose change is not in the replay; and how many gaps that tells of. */
async function lastWords(hosts: string[]) {
  const { text } = await recorded(async (page) => {
    for (let at = 0; at < PAGES; at += 1) {
      await page.goto(site.page("<p>first", hosts[at % hosts.length]));
      await page.evaluate(`document.body.append("left-${at}-last")`);
    }
  });
  const all = Array.from({ length: PAGES }, (_, at) => `left-${at}-last`);
  return {
    lost: all.filter((word) => !text.includes(word)),
    gaps: text.split("svc.gap").length - 1,
  };
}

/** What a page may do to everything that a recorder in its own world would use. */
const HOSTILE = `<form id="Zone"></form><form id="rrwebRecord"></form><form id="exports"></form>
<form id="module"></form><form id="define"></form><form id="__svcRecorder"></form><script>
  const native = { set: setTimeout, body: document.body };
  window.seen = [];
  addEventListener("message", ({ data }) => seen.push(data));
  new MutationObserver((changes) => {
    for (const { type, attributeName } of changes) seen.push(type + (attributeName ?? ""));
  }).observe(document, { childList: true, subtree: true, attributes: true });
  document.createElement = () => { seen.push("createElement"); return null; };
  const no = () => { throw new Error("no"); };
  JSON.stringify = JSON.parse = no;
  for (const name of ["MutationObserver", "Date", "Promise", "WeakMap", "Map", "Proxy", "Array", "Object", "Function",
    "setTimeout", "clearTimeout", "requestIdleCallback", "requestAnimationFrame", "addEventListener", "console"])
    Object.defineProperty(window, name, { get: no, configurable: false });
  for (const type of [Node, Element, HTMLInputElement, EventTarget])
    for (const name of Reflect.ownKeys(type.prototype))
      try { Reflect.defineProperty(type.prototype, name, { get: no, configurable: false }); } catch {}
</script>words of a hostile page`;

describe("a recording", () => {
  test("is of no concern to a page that breaks all that a recorder would use, and sees nothing of it", async () => {
    const { session, page } = await open();
    await page.goto(site.page(HOSTILE));
    const raw = await page.context().newCDPSession(page);
    const { result } = await raw.send("Runtime.evaluate", { expression: "seen.join()" });
    await customer.release(session);
    const { text } = await customer.replay(session);
    expect(text).toContain("words of a hostile page");
    // The text behind its script was still to be parsed.
    expect(result.value).toBe("childList");
  });

  test("is of no concern to a page with a strict policy", async () => {
    const { text } = await recorded((page) => page.goto(strictSite.page("<p>strict words")));
    expect(text).toContain("strict words");
  });

  test("has what frames of the same and of another origin show, and no page hears of it", async () => {
    const other = site.page("<p>other words", "localhost");
    const html = `<script>heard = 0; onmessage = () => { heard += 1; }</script>
      <iframe src="${site.page("<p>own words")}"></iframe><iframe src="${other}"></iframe>
      <iframe srcdoc="<p>inline words"></iframe>`;
    const { session, page } = await open();
    await page.goto(site.page(html));
    expect(await page.evaluate("heard")).toBe(0);
    await customer.release(session);
    const { text, events, tabs } = await customer.replay(session);
    for (const words of ["own words", "other words", "inline words"]) expect(text).toContain(words);
    expect(tabs).toHaveLength(1);
    const apart = events.filter(({ frameId }) => frameId !== undefined);
    expect(JSON.stringify(apart)).toContain("other words");
    expect(JSON.stringify(apart)).not.toContain("own words");
  });

  test("has popups, other contexts and what clients of /cdp open", async () => {
    const { session, page } = await open();
    await page.goto(site.page("<p>opener"));
    await page.evaluate(`open("about:blank").document.write("<p>popup words")`);
    const context = await page.context().browser()?.newContext();
    await (await context?.newPage())?.setContent("<p>context words");
    const raw = await chromium.connectOverCDP(session.cdpEndpoint);
    await (await raw.newPage()).goto(site.page("<p>raw words"));
    await customer.release(session);
    const { text } = await customer.replay(session);
    for (const words of ["popup words", "context words", "raw words"])
      expect(text).toContain(words);
  });

  test("hides passwords, codes and cards, whatever a page makes of them, and shows what else is typed", async () => {
    const { text } = await recorded(async (page) => {
      await page.goto(
        site.page(`<input id=a><input id=b type=password><input id=c autocomplete="cc-number">
        <input id=d autocomplete="one-time-code"><input id=e name="card_cvc"><input id=f value="typed-0">`),
      );
      for (const id of ["b", "c", "d", "e"]) await page.fill(`#${id}`, `secret-${id}`);
      await page.evaluate(`b.type = "text"; b.value += "!"; b.setAttribute("value", b.value)`);
      await page.type("#b", "secret-shown");
      await page.fill("#a", "typed-1");
      expect(await page.evaluate("document.body.innerHTML")).not.toContain("data-rr");
    });
    expect(text).toContain("typed-0");
    expect(text).toContain("typed-1");
    expect(text).not.toMatch(/secret|ecret-s/);
  });

  test.each([
    ["inputs", true],
    ["all", false],
  ])("with the mask %s hides what is typed, and texts: not %s", async (mask, showsTexts) => {
    const { text } = await recorded(
      async (page) => {
        await page.goto(site.page("<title>the title</title><p>a text<input id=a>"));
        await page.fill("#a", "typed");
        await page.evaluate(`document.body.append("later text")`);
      },
      { mask },
    );
    expect(text).not.toContain("typed");
    for (const words of ["the title", "a text", "later text"])
      expect(text.includes(words)).toBe(showsTexts);
  });

  test("has what changed in the moment before its session was released", async () => {
    const { text } = await recorded(async (page) => {
      await page.goto(site.page("<p>first"));
      await page.evaluate(`document.body.append("the very last")`);
    });
    expect(text).toContain("the very last");
  });

  test.each([
    ["to another site", ["127.0.0.1", "localhost"]],
    ["on its own site", ["127.0.0.1"]],
  ])(
    "has what changed in the moment before its page went on %s, or says where it has not",
    async (_where, hosts) => {
      const { lost, gaps } = await lastWords(hosts);
      expect(lost.length).toBeLessThanOrEqual(gaps);
      expect(lost.length).toBeLessThan(PAGES / 2);
    },
  );

  test("goes from the first to the last moment of its session", async () => {
    const began = Date.now();
    const { events } = await recorded((page) => page.goto(site.page("<p>first")));
    const ended = Date.now();
    expect(events.at(-1)).toMatchObject({ data: { tag: "svc.end" } });
    // The pool and the browser each have a clock, and the browser's may be some milliseconds off.
    for (const { timestamp } of events) {
      expect(timestamp).toBeGreaterThan(began - CLOCKS_MS);
      expect(timestamp).toBeLessThan(ended + CLOCKS_MS);
    }
  });
});

describe("a replay", () => {
  test("says that it was cut where a page was too busy to give its last events", async () => {
    const { session, page } = await open();
    await page.goto(site.page("<p>words before the loop"));
    await expect.poll(() => pool.recordedText()).toContain("words before the loop");
    await page.evaluate("void setTimeout(() => { for (;;); })");
    await customer.release(session);
    const { text, events } = await customer.replay(session, RECOVERED_MS);
    expect(text).toContain("words before the loop");
    expect(events.at(-1)?.data).toMatchObject({
      tag: "svc.cut",
      payload: { reason: "a page was too busy to give its last events" },
    });
  });

  test("is pending while its session runs, and unavailable where none was asked for", async () => {
    const { session } = await open();
    expect(await customer.refusal(session)).toMatchObject({
      code: "ReplayPending",
      retryable: true,
    });
    const plain = await customer.create({ recording: false });
    await customer.release(plain);
    expect(await customer.refusal(plain)).toMatchObject({ code: "ReplayUnavailable" });
    await customer.release(session);
    await customer.replay(session);
  });

  test("is stored before a pool has stopped", async () => {
    const { session, page } = await open();
    await page.goto(site.page("<p>words before the stop"));
    await pool.kill("SIGTERM");
    // Nobody is there who could store it later.
    expect((await customer.replay(session)).text).toContain("words before the stop");
    await pool.restart();
  });

  test("of a pool that was killed is stored by its next start, and says that it was cut", async () => {
    const { session, page } = await open();
    await page.goto(site.page("<p>words before the kill"));
    await expect.poll(() => pool.recordedText()).toContain("words before the kill");
    await pool.kill("SIGKILL");
    await pool.restart();
    const { text, events } = await customer.replay(session, RECOVERED_MS);
    expect(text).toContain("words before the kill");
    expect(events.at(-1)?.data).toMatchObject({ tag: "svc.cut" });
  });

  test("waits for a store that is away", async () => {
    const { session, page } = await open();
    await page.goto(site.page("<p>words before the night"));
    await expect.poll(() => pool.recordedText()).toContain("words before the night");
    await gateway.close();
    // The session's browser is killed, and those that wait for the next sessions.
    for (const pid of await pool.processes("--remote-debugging-pipe")) killIfThere(pid);
    await expect.poll(() => pool.waitingReplays()).toBe(1);
    gateway = await testGateway(PATIENT, { port: Number(gateway.url.port), stateDir });
    expect((await customer.replay(session, RECOVERED_MS)).text).toContain("words before the night");
    await expect.poll(() => pool.waitingReplays()).toBe(0);
  });
});
