import { setTimeout as pause } from "node:timers/promises";
import { SessionCreated, SessionRecord } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { chromium, type Browser } from "playwright-core";
import puppeteer from "puppeteer-core";
import { afterAll, describe, expect, test, vi } from "vitest";
import { PATIENT, testGateway } from "../support/process/gateway.ts";
import { missingStealth } from "../support/process/needs.ts";
import { parseRaw, sendRaw } from "../support/process/raw-http.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { startSite } from "../support/fakes/site.ts";

const site = await startSite();
const gateway = await testGateway(PATIENT);
const pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: site.address });
const key = await gateway.newKey();
afterAll(async () => {
  await pool.close();
  await gateway.close();
  site.close();
});

const call = (path: string, method = "GET", body: object | null = null) => {
  const headers = { authorization: `Bearer ${key}` };
  const init = { method, headers, body: body && JSON.stringify(body) };
  return fetch(new URL(path, gateway.url), init);
};

async function create(ask: object | null = null): Promise<SessionCreated> {
  const response = await call("/sessions", "POST", ask);
  expect(response.status).toBe(201);
  return SessionCreated.parse(await response.json());
}

async function read(id: string): Promise<SessionRecord> {
  return SessionRecord.parse(await (await call(`/sessions/${id}`)).json());
}

const PNG = "89504e47";

describe.each([
  ["Playwright over /ws", (session: SessionCreated) => chromium.connect(session.wsEndpoint)],
  [
    "Playwright over /cdp",
    (session: SessionCreated) => chromium.connectOverCDP(session.cdpEndpoint),
  ],
])("%s", (_name, connect) => {
  test("drives a real site: navigate, click, screenshot", async () => {
    const session = await create();
    const browser = await connect(session);
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("a new session has a page");
    await page.goto(site.url);
    expect(await page.title()).toBe("Counter");
    await page.click("#more");
    await page.click("#more");
    expect(await page.textContent("#count")).toBe("2");
    expect((await page.screenshot()).toString("hex", 0, 4)).toBe(PNG);
    await call(`/sessions/${session.sessionId}`, "DELETE");
    expect((await read(session.sessionId)).closeReason).toBe("released");
  });

  test("a client that closes ends the session after the linger, and its slot is free again", async () => {
    const session = await create();
    const browser = await connect(session);
    const closedAt = Date.now();
    await browser.close();
    await vi.waitFor(
      async () => {
        const record = await read(session.sessionId);
        expect(record).toMatchObject({ status: "released", closeReason: "client_disconnected" });
      },
      { timeout: 90_000, interval: 200 },
    );
    expect(Date.now() - closedAt).toBeGreaterThanOrEqual(LIMITS.lingerMs);
  });

  test.each([0, 100, 300, 700])(
    "a client that comes and goes three times, %i ms apart, leaves no session behind",
    async (apartMs) => {
      const session = await create();
      const visit = async (): Promise<void> => {
        const browser = await connect(session);
        await (await browser.newContext()).newPage();
        await browser.close();
      };
      await visit();
      for (let n = 1; n < 3; n += 1) {
        await pause(apartMs);
        // On a slow computer the linger may be over before the client is back: only an ended session may refuse it.
        await visit().catch(async (error: unknown) => {
          if ((await read(session.sessionId)).status === "active") throw error;
        });
      }
      const ended = { status: "released", closeReason: "client_disconnected" };
      const seen = async () => expect(await read(session.sessionId)).toMatchObject(ended);
      await vi.waitFor(seen, { timeout: 90_000, interval: 200 });
    },
  );
});

test("puppeteer over /cdp drives the same", async () => {
  const session = await create();
  const browser = await puppeteer.connect({ browserWSEndpoint: session.cdpEndpoint });
  const [page] = await browser.pages();
  if (!page) throw new Error("a new session has a page");
  await page.goto(site.url);
  await page.click("#more");
  expect(await page.$eval("#count", (count) => count.textContent)).toBe("1");
  const shot = await page.screenshot();
  expect(Buffer.from(shot).toString("hex", 0, 4)).toBe(PNG);
  await browser.disconnect();
  await call(`/sessions/${session.sessionId}`, "DELETE");
});

test.skipIf(await missingStealth())(
  "a session of kind stealth is one in all that customers do: it is driven, leased, listed and released",
  async () => {
    const session = await create({ stealth: true, lease: { idleSeconds: 600 } });
    const path = `/sessions/${session.sessionId}`;
    for (const connect of [
      () => chromium.connect(session.wsEndpoint),
      () => chromium.connectOverCDP(session.cdpEndpoint),
    ]) {
      // A lease: the first client that leaves does not end the session.
      const browser = await connect();
      const page = pageOf(browser);
      await page.goto(site.url);
      await page.click("#more");
      expect(await page.textContent("#count")).toBe("1");
      expect((await page.screenshot()).toString("hex", 0, 4)).toBe(PNG);
      await browser.close();
    }
    expect(await read(session.sessionId)).toMatchObject({ kind: "stealth", status: "active" });
    const renewed = await call(`${path}/lease`, "POST", { idleSeconds: 300 });
    expect(await renewed.json()).toMatchObject({ idleSeconds: 300 });
    await call(path, "DELETE");
    const ended = { kind: "stealth", status: "released", closeReason: "released" };
    expect(await read(session.sessionId)).toMatchObject(ended);
  },
);

test.skipIf(await missingStealth())(
  "a session with allowed domains reaches these alone, until they are replaced",
  async () => {
    const session = await create({ stealth: true, allowedDomains: ["LOCALHOST."] });
    expect(session.allowedDomains).toEqual(["localhost"]);
    const path = `/sessions/${session.sessionId}`;
    const replace = async (domains: string[]): Promise<unknown> =>
      (await call(`${path}/allowed-domains`, "POST", { domains })).json();
    const page = pageOf(await chromium.connect(session.wsEndpoint));
    const byName = site.url.replace("127.0.0.1", "localhost");
    const statuses = async () => [
      (await page.goto(byName))?.status(),
      (await page.goto(site.url))?.status(),
    ];
    expect(await statuses()).toEqual([200, 403]);
    const domains = ["other.example"];
    expect(await replace(domains)).toEqual({ ok: true, domains });
    expect(await statuses()).toEqual([403, 403]);
    expect(await replace([])).toEqual({ ok: true, domains: [] });
    expect(await statuses()).toEqual([200, 200]);
    await call(path, "DELETE");
  },
);

test("both endpoints see one browser", async () => {
  const session = await create();
  const wire = await chromium.connect(session.wsEndpoint);
  const cdp = await chromium.connectOverCDP(session.cdpEndpoint);
  await pageOf(wire).goto(site.url);
  await vi.waitFor(() => expect(pageOf(cdp).url()).toBe(site.url), 90_000);
  await pageOf(cdp).click("#more");
  expect(await pageOf(wire).textContent("#count")).toBe("1");
  await call(`/sessions/${session.sessionId}`, "DELETE");
});

function pageOf(browser: Browser) {
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error("a new session has a page");
  return page;
}

test("an old Playwright is refused at the upgrade with what is served and the fix", async () => {
  const session = await create();
  const path = new URL(session.wsEndpoint).pathname;
  const answer = parseRaw(
    await sendRaw(gateway.url, [
      `GET ${path} HTTP/1.1`,
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Version: 13",
      "User-Agent: Playwright/1.50.1 (x64; debian 12) node/20.0",
    ]),
  );
  expect(answer.status).toBe(428);
  expect(answer.head.toLowerCase()).toContain("content-type: text/plain");
  expect(answer.body).toContain("1.50");
  expect(answer.body).toContain("1.65");
  await call(`/sessions/${session.sessionId}`, "DELETE");
});
