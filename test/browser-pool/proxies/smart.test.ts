import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser, missingStealth } from "../../support/process/needs.ts";
import { byCdp, byWire, firstPage } from "../clients.ts";
import { Rig } from "../rig.ts";
import { Upstream } from "./upstream.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
const main = fileURLToPath(new URL("../named-hosts.ts", import.meta.url));
const HOME = "127.0.0.1";
const RESIDENTIAL = "127.0.0.2";
const MOBILE = "127.0.0.3";

/** Addresses that the site blocks, and how: a status, or a page. */
const blocked = new Map<string, number | string>();
/** What was asked of the site: method, path and address. */
const asked: string[] = [];
const site = createServer(({ socket, method, url = "" }, response) => {
  const from = socket.remoteAddress ?? "";
  if (url !== "/favicon.ico") asked.push(`${method} ${url} ${from}`);
  // The first to ask hears nothing.
  if (url === "/slow" && from === HOME) return;
  const block = blocked.get(from);
  response.setHeader("content-type", "text/html");
  if (url === "/frames")
    return void response.end("<title>frames</title><iframe src=/bad></iframe>");
  if (url === "/form")
    return void response.end("<form method=post action=/post><button>go</button></form>");
  const isBlocked = block !== undefined || url === "/bad";
  const page = typeof block === "string" ? block : "<title>denied</title>";
  const body = isBlocked ? page : `<title>${from}</title><h1>welcome</h1>`;
  const status = typeof block === "string" ? 200 : (block ?? 403);
  response.writeHead(isBlocked ? status : 200, { "content-length": body.length });
  response.end(body);
});

describe.skipIf(isMissing)("a smart session", { timeout: 120_000 }, () => {
  let rig: Rig;
  let residential: Upstream;
  let mobile: Upstream;
  let id = "s0";
  let count = 0;

  beforeAll(async () => {
    site.listen(0, HOME);
    await once(site, "listening");
    residential = await new Upstream(RESIDENTIAL).start();
    mobile = await new Upstream(MOBILE).start();
    rig = await Rig.start({
      kind: "stealth",
      main,
      env: {
        SVC_EGRESS_ALLOW: `127.0.0.1:${port()}`,
        SVC_WARM_FAST: "0",
        SVC_LOG_LEVEL: "info",
        SVC_PROXY_RESIDENTIAL_URL: `http://r-{country}:pw@127.0.0.1:${residential.port}`,
        SVC_PROXY_MOBILE_URL: `socks5://m-{country}:pw@127.0.0.1:${mobile.port}`,
        SVC_PROXY_CHECK: `check.test:${port()}`,
      },
    });
    await rig.warm();
  });
  afterAll(async () => {
    await rig.stop();
    for (const upstream of [residential, mobile]) upstream.stop();
    site.closeAllConnections();
    site.close();
  });
  beforeEach(() => {
    count += 1;
    id = `s${count}`;
    blocked.clear();
    mobile.fault = null;
    residential.fault = null;
  });
  afterEach(async () => {
    await rig.delete(id);
    asked.length = 0;
  });

  const port = (): number => (site.address() as AddressInfo).port;
  const url = (path = "/", host = "site.test"): string => `http://${host}:${port()}${path}`;
  async function smart(allowedDomains?: string[]): Promise<Page> {
    const placed = await rig.place(id, {
      proxy: "smart",
      ...(allowedDomains && { allowedDomains }),
    });
    expect(placed.proxy).toBeUndefined();
    return firstPage(await byWire(rig, id));
  }
  const rungs = async () =>
    (await rig.gateway.report(id, ({ rungs: all }) => all !== undefined)).rungs;

  test("leaves from the host until a page is blocked, then by mobile, then by residential", async () => {
    const page = await smart();
    await page.goto(url());
    expect(await page.title()).toBe(HOME);
    blocked.set(HOME, 403);
    await page.goto(url("/one"));
    await page.waitForSelector("h1");
    expect(await page.title()).toBe(MOBILE);
    blocked.set(MOBILE, 429);
    await page.goto(url("/two"));
    await page.waitForSelector("h1");
    expect(await page.title()).toBe(RESIDENTIAL);
    expect(asked).toEqual([
      `GET / ${HOME}`,
      `GET /one ${HOME}`,
      `GET /one ${MOBILE}`,
      `GET /two ${MOBILE}`,
      `GET /two ${RESIDENTIAL}`,
    ]);
    const { rungs: told } = await rig.gateway.report(id, ({ rungs: all }) => all?.length === 2);
    expect(told).toMatchObject([
      { tier: "mobile", country: "us", timezoneId: "America/New_York", reason: "status 403" },
      { tier: "residential", reason: "status 429" },
    ]);
    expect(rig.stderr).toMatch(/ladder_climbed/);
    expect(await page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")).toBe(
      "America/New_York",
    );
  });

  test("climbs past every rung that is blocked, and leaves the page as it is at the top", async () => {
    for (const address of [HOME, MOBILE, RESIDENTIAL]) blocked.set(address, 503);
    const page = await smart();
    await page.goto(url());
    await expect.poll(() => page.title()).toBe("denied");
    expect((await page.reload())?.status()).toBe(503);
    expect(asked.map((one) => one.split(" ")[2])).toEqual([HOME, MOBILE, RESIDENTIAL, RESIDENTIAL]);
  });

  test("keeps the history of a page that it heals, also of one with a fragment", async () => {
    const page = await smart();
    await page.goto(url("/first"));
    blocked.set(HOME, 403);
    await page.goto(url("/second#part"));
    await page.waitForSelector("h1");
    expect(await page.evaluate("[history.length, location.hash]")).toEqual([3, "#part"]);
    await page.goBack();
    expect(page.url()).toBe(url("/first"));
    await page.goForward();
    expect(page.url()).toBe(url("/second#part"));
  });

  test("heals a popup, and a page of a raw client", async () => {
    await rig.place(id, { proxy: "smart" });
    const browser = await byCdp(rig, id);
    const page = firstPage(browser);
    await page.goto(url());
    blocked.set(HOME, 403);
    const opened = page.waitForEvent("popup");
    await page.evaluate(`void window.open("/popup")`);
    const popup = await opened;
    await popup.waitForSelector("h1");
    expect(await popup.title()).toBe(MOBILE);
    await browser.close();
  });

  test("heals where its client intercepts requests itself, and where pages run no scripts", async () => {
    const page = await smart();
    await page.route("**/*", (route) => route.continue());
    blocked.set(HOME, 403);
    await page.goto(url());
    await page.waitForSelector("h1");
    expect(await page.title()).toBe(MOBILE);
    const still = await page.context().browser()?.newContext({ javaScriptEnabled: false });
    const plain = await still?.newPage();
    if (!plain) throw new Error("no page");
    blocked.set(MOBILE, 403);
    await plain.goto(url());
    await plain.waitForSelector("h1");
    expect(await plain.title()).toBe(RESIDENTIAL);
  });

  test.each([
    ["<title>Just a moment...</title>", "a page of Cloudflare"],
    ['<iframe id=main src="/_Incapsula_Resource?CWUDNSAI=1"></iframe>', "a page of Imperva"],
  ])("knows the block page %s, whatever its status", async (block, reason) => {
    blocked.set(HOME, block);
    const page = await smart();
    await page.goto(url());
    await page.waitForSelector("h1");
    expect(await page.title()).toBe(MOBILE);
    expect(await rungs()).toMatchObject([{ tier: "mobile", reason }]);
  });

  test("skips a rung that does not work", async () => {
    mobile.fault = "refusing";
    blocked.set(HOME, 403);
    const page = await smart();
    await page.goto(url());
    await page.waitForSelector("h1");
    expect(await page.title()).toBe(RESIDENTIAL);
    expect(await rungs()).toMatchObject([{ tier: "residential" }]);
  });

  test("with no rung that works shows the page as it is", async () => {
    mobile.fault = "refusing";
    residential.fault = "refusing";
    blocked.set(HOME, 403);
    const page = await smart();
    expect((await page.goto(url()))?.status()).toBe(403);
    expect(await page.title()).toBe("denied");
  });

  test("does not climb for a form, for a frame, or for what its own way out refuses", async () => {
    const page = await smart(["site.test"]);
    await page.goto(url("/frames"));
    expect((await page.goto(url("/", "other.test")))?.status()).toBe(403);
    await page.goto(url("/form"));
    blocked.set(HOME, 403);
    const answered = page.waitForResponse(url("/post"));
    await page.click("button");
    expect((await answered).status()).toBe(403);
    expect(await page.title()).toBe("denied");
    expect(asked.filter((one) => !one.endsWith(HOME))).toEqual([]);
  });

  test("asks again for a page that was on its way when another page made it climb", async () => {
    const page = await smart();
    const other = await page.context().newPage();
    const slow = other.goto(url("/slow"));
    await expect.poll(() => asked).toContain(`GET /slow ${HOME}`);
    blocked.set(HOME, 403);
    await page.goto(url("/quick"));
    await slow;
    await other.waitForSelector("h1");
    expect(await other.title()).toBe(MOBILE);
    expect(await rungs()).toHaveLength(1);
  });

  test("whose pages are blocked at once climbs once", async () => {
    const page = await smart();
    const others = await Promise.all([1, 2, 3].map(() => page.context().newPage()));
    blocked.set(HOME, 403);
    await Promise.all([page, ...others].map((one, at) => one.goto(url(`/${at}`))));
    for (const one of [page, ...others]) {
      await one.waitForSelector("h1");
      expect(await one.title()).toBe(MOBILE);
    }
    expect(await rungs()).toHaveLength(1);
  });
});
