import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authority } from "../support/process/certificates.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byCdp, byWire, firstPage } from "./clients.ts";
import { CustomerProxy } from "./customer-proxy.ts";
import { Upstream } from "./proxies/upstream.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

describe.skipIf(await missingBrowser())("a context with a proxy of its own", () => {
  let rig: Rig;
  let site: Site;
  let proxy: CustomerProxy;
  let authority: Authority;
  let secure: CustomerProxy;
  let impostor: CustomerProxy;
  let socks: Upstream;

  beforeAll(async () => {
    site = await new Site().start();
    proxy = await new CustomerProxy().start();
    authority = await Authority.create();
    const own = await authority.identity(["DNS:localhost"]);
    secure = await new CustomerProxy(own).start();
    const others = await authority.identity(["DNS:other.test"]);
    impostor = await new CustomerProxy(others).start();
    socks = await new Upstream("127.0.0.2", "").start();
    // The site itself is forbidden: whoever reaches it went through a proxy.
    const proxies = [proxy, secure, impostor, socks].map(({ port }) => `127.0.0.1:${port}`);
    rig = await Rig.start({
      env: { SVC_EGRESS_ALLOW: proxies.join(","), NODE_EXTRA_CA_CERTS: authority.path },
    });
    await rig.place("s");
  });
  afterAll(async () => {
    await rig.stop();
    for (const one of [proxy, secure, impostor, socks, site]) one.stop();
    await authority.forget();
  });
  const own = () => ({
    server: `http://localhost:${proxy.port}`,
    username: "me",
    password: "secret",
  });

  test.each([
    ["the wire", byWire],
    ["CDP", byCdp],
  ])("reaches what the proxy reaches, over %s", async (_, open) => {
    const browser = await open(rig, "s");
    const context = await browser.newContext({ proxy: own() });
    const page = await context.newPage();
    const count = proxy.asked.length;
    const answer = await page.goto(site.url);
    expect([answer?.status(), await page.title()]).toEqual([200, "home"]);
    expect(proxy.asked.length).toBeGreaterThan(count);
    expect((await firstPage(browser).goto(site.url))?.status()).toBe(403);
    await context.close();
  });

  test("a wrong password is the proxy's own 407", async () => {
    const browser = await byWire(rig, "s");
    const context = await browser.newContext({ proxy: { ...own(), password: "wrong" } });
    const answer = await (await context.newPage()).goto(site.url).catch((error: Error) => error);
    const told = answer instanceof Error ? answer.message : String(answer?.status());
    expect(told).toMatch(/^407$|ERR_INVALID_AUTH_CREDENTIALS/);
  });

  test("API requests of the context go through its proxy", async () => {
    const browser = await byWire(rig, "s");
    const context = await browser.newContext({ proxy: own() });
    const count = proxy.asked.length;
    expect(await (await context.request.get(site.url)).text()).toContain("hello");
    expect(proxy.asked.length).toBeGreaterThan(count);
  });

  test.each([
    ["short", ""],
    ["long", " ".repeat(2_000)],
  ])(
    "the lists of a raw CDP client's %s call lead through the proxy, its bypass list around nothing",
    async (_, space) => {
      const client = await RawCdp.open(rig, "s");
      const asked = {
        proxyServer: `http=127.0.0.1:${proxy.port};https=127.0.0.1:${proxy.port}`,
        proxyBypassList: `127.0.0.1${space}`,
      };
      const { result } = await client.call("Target.createBrowserContext", asked);
      const target = { url: "about:blank", browserContextId: result?.browserContextId };
      const { targetId } = (await client.call("Target.createTarget", target)).result ?? {};
      const attached = await client.call("Target.attachToTarget", { targetId, flatten: true });
      const session = String(attached.result?.sessionId);
      await client.call("Network.enable", {}, session);
      await client.call("Page.navigate", { url: site.url }, session);
      const isAnswered = () =>
        client.heard.some(
          ({ method, params }) =>
            method === "Network.responseReceived" &&
            JSON.stringify(params).includes('"status":407'),
        );
      await expect.poll(isAnswered).toBe(true);
    },
  );

  test("a proxy over TLS that proves who it is is used, for pages and API requests", async () => {
    const browser = await byWire(rig, "s");
    const server = `https://localhost:${secure.port}`;
    const context = await browser.newContext({ proxy: { ...own(), server } });
    const page = await context.newPage();
    expect((await page.goto(site.url))?.status()).toBe(200);
    const count = secure.asked.length;
    expect(await (await context.request.get(site.url)).text()).toContain("hello");
    expect(secure.asked.length).toBeGreaterThan(count);
    await context.close();
  });

  test("a proxy over TLS that proves to be another hears nothing, and the page says why", async () => {
    const browser = await byWire(rig, "s");
    const server = `https://localhost:${impostor.port}`;
    const context = await browser.newContext({ proxy: { ...own(), server } });
    const page = await context.newPage();
    expect((await page.goto(site.url))?.status()).toBe(403);
    expect(await page.textContent("body")).toContain(
      "its certificate is not accepted (ERR_TLS_CERT_ALTNAME_INVALID)",
    );
    expect(impostor.asked).toEqual([]);
    await context.close();
  });

  test("a SOCKS proxy is used, for pages and API requests", async () => {
    const browser = await byWire(rig, "s");
    const server = `socks5://localhost:${socks.port}`;
    const context = await browser.newContext({ proxy: { server } });
    const page = await context.newPage();
    expect((await page.goto(site.url))?.status()).toBe(200);
    const count = socks.asked.length;
    expect(await (await context.request.get(site.url)).text()).toContain("hello");
    expect(socks.asked.length).toBeGreaterThan(count);
    await context.close();
  });

  test("a proxy at a private address is refused, and the page says why", async () => {
    const browser = await byWire(rig, "s");
    const context = await browser.newContext({
      proxy: { server: `http://127.0.0.1:${site.port}` },
    });
    const page = await context.newPage();
    const count = site.seen.length;
    expect((await page.goto("http://example.com/"))?.status()).toBe(403);
    expect(await page.textContent("body")).toContain("This address is private");
    await expect(page.goto("https://example.com/")).rejects.toThrow("ERR_TUNNEL_CONNECTION_FAILED");
    expect((await context.request.get("http://example.com/")).status()).toBe(403);
    expect(site.seen.length).toBe(count);
  });
});
