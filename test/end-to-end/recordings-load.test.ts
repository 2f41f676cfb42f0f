// Pages that give a recorder more than it can take: the session goes on, and the replay has what is there in the end.
import { type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RecordedCustomer, startEchoSite } from "../support/process/recorded.ts";

const MIB = 1024 ** 2;
/** A page on a busy machine needs many times the seconds of its steps. */
const DONE = { timeout: 100_000 };
/** To look at megabytes takes a moment. */
const SOME = { interval: 1_000 };
vi.setConfig({ testTimeout: 400_000 });
const site = await startEchoSite();
let gateway: TestGateway;
let pool: PoolProcess;
let customer: RecordedCustomer;

/** The replay of a session that shows a page of one script, and shows a last word when that is over. */
async function recorded(script: string, work: (page: Page) => Promise<unknown>) {
  const session = await customer.create();
  const browser = await chromium.connect(session.wsEndpoint);
  const page = browser.contexts()[0]?.pages()[0];
  await page?.goto(site.page(`<body><script>${script}</script>`));
  if (page) await work(page);
  await page?.evaluate(`document.body.append("the last words")`);
  // A release waits for 2.5 s, in which a busy computer moves no megabytes.
  const isThere = async () => (await pool.recordedText()).includes("the last words");
  await expect.poll(isThere, SOME).toBe(true);
  await customer.release(session);
  const replay = await customer.replay(session);
  await browser.close();
  expect(replay.events.at(-1)?.data).toMatchObject({ tag: "svc.end" });
  return replay;
}

describe.skipIf(await missingBrowser())("a recording of a page", () => {
  beforeAll(async () => {
    gateway = await testGateway(PATIENT);
    pool = await PoolProcess.start(gateway, {
      SVC_EGRESS_ALLOW: site.addresses,
      SVC_WARM_FAST: "1",
    });
    customer = new RecordedCustomer(gateway, await gateway.newKey());
  });
  afterAll(async () => {
    await pool.close();
    await gateway.close();
    site.close();
  });

  test("of 5 MB has all of it", async () => {
    const script = `for (let n = 0; n < 50_000; n += 1) {
      const p = document.createElement("p");
      p.textContent = "row " + n + " " + "x".repeat(90);
      document.body.append(p);
    }`;
    // The recorder begins when the page is idle: a release that comes before has 2.5 s to take all of it.
    const { text } = await recorded(script, (page) =>
      page.evaluate("new Promise((done) => requestIdleCallback(done))"),
    );
    expect(text).toContain("row 49999 ");
    expect(text).toContain("the last words");
  });

  test("of 10,000 changes a second has its last words", async () => {
    const script = `let n = 0;
      const timer = setInterval(() => {
        for (let k = 0; k < 100; k += 1) document.body.setAttribute("data-" + (k % 10), n += 1);
        if (n >= 30_000) { clearInterval(timer); document.title = "done"; }
      }, 10);`;
    const { text } = await recorded(script, (page) =>
      page.waitForFunction(`document.title === "done"`, null, DONE),
    );
    expect(text).toContain("the last words");
  });

  test("of a canvas without an end is no longer for it", async () => {
    const script = `document.body.append(document.createElement("canvas"));
      const context = document.querySelector("canvas").getContext("2d");
      let n = 0;
      const draw = () => {
        context.fillStyle = "#" + (n % 4096).toString(16).padStart(3, "0");
        context.fillRect(n % 300, 0, 9, 99);
        if ((n += 1) === 120) document.title = "done";
        requestAnimationFrame(draw);
      };
      draw();`;
    const { text } = await recorded(script, (page) =>
      page.waitForFunction(`document.title === "done"`, null, DONE),
    );
    expect(text).toContain("the last words");
    expect(text.length).toBeLessThan(MIB);
  });

  test("of more than 32 MiB is stored in parts", async () => {
    const script = `const random = (chunks) => Array.from({ length: chunks }, () =>
        btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(48 * 1024))))).join("");
      const steps = 9;
      const p = document.createElement("p");
      // Drawing megabytes of text would take longer than recording them.
      p.hidden = true;
      document.body.append(p);
      const step = (n) => {
        p.textContent = random(96);
        // Below what a document may say in a second.
        if (n < steps) setTimeout(step, 1_000, n + 1);
        else document.title = "done";
      };
      step(1);`;
    const { text, url } = await recorded(script, (page) =>
      page.waitForFunction(`document.title === "done"`, null, DONE),
    );
    expect(text).toContain("the last words");
    const { headers, body } = await fetch(url.url);
    await body?.cancel();
    expect(Number(headers.get("content-length"))).toBeGreaterThan(32 * MIB);
  });
});
