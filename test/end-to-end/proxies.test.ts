import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ProxyCountries } from "@svc/contract/browser/proxy.ts";
import { SessionCreated, SessionRecord } from "@svc/contract/browser/session.ts";
import { type Browser, chromium } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Upstream } from "../browser-pool/proxies/upstream.ts";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingBrowser, missingStealth } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
const HOME = "127.0.0.1";
const MOBILE = "127.0.0.3";

/** Tells who asks by which address; `/picky` denies those who come from the pool's own. */
const site = createServer(({ socket, url }, response) => {
  const from = socket.remoteAddress ?? "";
  const isDenied = url === "/picky" && from === HOME;
  response.setHeader("content-type", "text/html");
  response.statusCode = isDenied ? 403 : 200;
  response.end(isDenied ? "<title>denied</title>" : `<title>${from}</title><h1>welcome</h1>`);
});

describe.skipIf(isMissing)("a managed proxy, by gateway and pool", { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let pool: PoolProcess;
  let mobile: Upstream;
  let key: string;
  const open: Browser[] = [];

  beforeAll(async () => {
    site.listen(0, HOME);
    await once(site, "listening");
    mobile = await new Upstream(MOBILE).start();
    gateway = await testGateway(PATIENT);
    key = await gateway.newKey();
    pool = await PoolProcess.start(gateway, {
      SVC_EGRESS_ALLOW: `${HOME}:${port()}`,
      SVC_WARM_FAST: "0",
      SVC_WARM_STEALTH: "1",
      SVC_PROXY_MOBILE_URL: `http://m-{country}-{session}:pw@${HOME}:${mobile.port}`,
      SVC_PROXY_MOBILE_COUNTRIES: "de,us",
      SVC_PROXY_CHECK: `${HOME}:${port()}`,
    });
  });
  afterEach(async () => {
    for (const browser of open.splice(0)) await browser.close();
  });
  afterAll(async () => {
    await pool.close();
    await gateway.close();
    mobile.stop();
    site.closeAllConnections();
    site.close();
  });

  const port = (): number => (site.address() as AddressInfo).port;
  const url = (path: string): string => `http://localhost:${port()}${path}`;
  async function call(path: string, body?: object): Promise<unknown> {
    const headers = { authorization: `Bearer ${key}` };
    const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
    return (await fetch(new URL(path, gateway.url), { headers, ...init })).json();
  }
  const create = async (proxy: unknown): Promise<SessionCreated> =>
    SessionCreated.parse(await call("/sessions", { stealth: true, proxy }));
  async function pageOf({ cdpEndpoint }: SessionCreated) {
    const browser = await chromium.connectOverCDP(cdpEndpoint);
    open.push(browser);
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("the session has no page");
    return page;
  }
  const read = async ({ sessionId }: SessionCreated): Promise<SessionRecord> =>
    SessionRecord.parse(await call(`/sessions/${sessionId}`));

  test("is listed, applied and told of as it was wished", async () => {
    const listed = async () => ProxyCountries.parse(await call("/proxy/countries"));
    // The pool is listed once its first heartbeat is heard.
    await expect.poll(listed).toMatchObject({
      enabled: true,
      countries: ["de", "us"],
      tiers: { mobile: ["de", "us"], residential: [] },
    });
    const session = await create({ country: "de", session: "a-1", sessionDuration: 5 });
    const proxy = { tier: "mobile", country: "de", timezoneId: "Europe/Berlin" };
    expect(session.proxy).toEqual(proxy);
    const page = await pageOf(session);
    await page.goto(url("/"));
    expect(await page.title()).toBe(MOBILE);
    expect((await read(session)).proxy).toEqual(proxy);
  });

  test("of a tier that no pool has is left out, and the session leaves from the pool's host", async () => {
    const session = await create({ tier: "residential" });
    expect(session).not.toHaveProperty("proxy");
    const page = await pageOf(session);
    await page.goto(url("/"));
    expect(await page.title()).toBe(HOME);
  });

  test("that is smart climbs when a page is blocked, and the record says to what and why", async () => {
    const session = await create("smart");
    expect(session).not.toHaveProperty("proxy");
    const page = await pageOf(session);
    await page.goto(url("/"));
    expect(await page.title()).toBe(HOME);
    await page.goto(url("/picky"));
    await page.waitForSelector("h1");
    expect(await page.title()).toBe(MOBILE);
    await expect
      .poll(() => read(session))
      .toMatchObject({
        proxy: { tier: "mobile", country: "us", timezoneId: "America/New_York" },
        proxyRungs: [{ tier: "mobile", reason: "status 403" }],
      });
  });
});
