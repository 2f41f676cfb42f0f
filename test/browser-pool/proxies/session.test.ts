import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { PlaceSlot } from "@svc/contract/host-protocol/slots.ts";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Authority } from "../../support/process/certificates.ts";
import { missingBrowser, missingStealth } from "../../support/process/needs.ts";
import { RawCdp, byWire, firstPage } from "../clients.ts";
import { Rig } from "../rig.ts";
import { ANY_EXIT } from "@svc/contract/host-protocol/exits.ts";
import { Upstream } from "./upstream.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
const main = fileURLToPath(new URL("../named-hosts.ts", import.meta.url));
const WHEREABOUTS = `(() => {
  const { timeZone, locale } = Intl.DateTimeFormat().resolvedOptions();
  return { timeZone, locale, languages: navigator.languages.join() };
})()`;
const IN_WORKER = `new Promise((resolve) => {
  const code = "postMessage(" + ${JSON.stringify(WHEREABOUTS)} + ")";
  new Worker(URL.createObjectURL(new Blob([code]))).onmessage = ({ data }) => resolve(data);
})`;
const GERMAN = { timeZone: "Europe/Berlin", locale: "de-DE", languages: "de-DE,de,en-US,en" };

/** Tells who asks from where, and in which language. */
const site = createServer(({ socket, headers }, response) => {
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({ from: socket.remoteAddress, language: headers["accept-language"] }),
  );
});

describe.skipIf(isMissing)("a session with a managed proxy", { timeout: 120_000 }, () => {
  let rig: Rig;
  let residential: Upstream;
  let mobile: Upstream;
  let dead: Upstream;
  let authority: Authority;
  let id = "s0";
  let count = 0;

  beforeAll(async () => {
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    authority = await Authority.create();
    const identity = await authority.identity(["DNS:localhost"]);
    residential = await new Upstream("127.0.0.2", "pw", identity).start();
    mobile = await new Upstream("127.0.0.3").start();
    dead = await new Upstream("127.0.0.4").start();
    rig = await Rig.start({
      kind: "stealth",
      main,
      env: {
        SVC_EGRESS_ALLOW: `127.0.0.1:${port()}`,
        SVC_WARM_FAST: "0",
        NODE_EXTRA_CA_CERTS: authority.path,
        SVC_PROXY_RESIDENTIAL_URL: `https://r-{country}[-{state}]:pw@localhost:${residential.port}`,
        SVC_PROXY_MOBILE_URL: `socks5://m-{country}-{session}:pw@127.0.0.1:${mobile.port}`,
        SVC_PROXY_STATIC_URL: `http://s-{country}:wrong@127.0.0.1:${dead.port}`,
        SVC_PROXY_STATIC_COUNTRIES: "us,de",
        SVC_PROXY_CHECK: `check.test:${port()}`,
      },
    });
    await rig.warm();
  });
  afterAll(async () => {
    await rig.stop();
    for (const upstream of [residential, mobile, dead]) upstream.stop();
    await authority.forget();
    site.closeAllConnections();
    site.close();
  });
  beforeEach(() => {
    count += 1;
    id = `s${count}`;
  });
  afterEach(() => rig.delete(id));

  const port = (): number => (site.address() as AddressInfo).port;
  const url = (host = "site.test"): string => `http://${host}:${port()}/`;
  const wish = (facts: object): Partial<PlaceSlot> => ({ proxy: { ...ANY_EXIT, ...facts } });
  const pageOf = async (ask: Partial<PlaceSlot>): Promise<Page> => {
    await rig.place(id, ask);
    return firstPage(await byWire(rig, id));
  };
  const seen = async (page: Page): Promise<unknown> => (await page.goto(url()))?.json();

  test("leaves by its exit, for pages, API requests and raw clients, in the time and language of its country", async () => {
    const placed = await rig.place(id, wish({ country: "de" }));
    expect(placed.proxy).toEqual({
      tier: "residential",
      country: "de",
      timezoneId: "Europe/Berlin",
    });
    const browser = await byWire(rig, id);
    const page = firstPage(browser);
    const german = { from: "127.0.0.2", language: "de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7" };
    expect(await seen(page)).toEqual(german);
    expect(await page.evaluate(WHEREABOUTS)).toEqual(GERMAN);
    expect(await page.evaluate(IN_WORKER)).toEqual(GERMAN);
    const other = await (await browser.newContext()).newPage();
    expect(await seen(other)).toEqual(german);
    expect(await other.evaluate(WHEREABOUTS)).toEqual(GERMAN);
    expect(await (await page.request.get(url())).json()).toMatchObject({ from: "127.0.0.2" });
    const raw = await RawCdp.open(rig, id);
    const session = await raw.attach();
    const expression = `fetch("${url()}").then((answer) => answer.json()).then(({ from }) => from)`;
    const { result } = await raw.call(
      "Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true },
      session,
    );
    expect(result?.["result"]).toMatchObject({ value: "127.0.0.2" });
    raw.socket.close();
    expect(residential.asked.every(({ name }) => name === "r-de")).toBe(true);
  });

  test("has the time of a state of the US, and says the tier that serves it", async () => {
    const page = await pageOf(wish({ country: "us", state: "CA" }));
    expect(await seen(page)).toMatchObject({ from: "127.0.0.2" });
    expect(residential.asked.at(-1)?.name).toBe("r-us-ca");
    expect(await page.evaluate(WHEREABOUTS)).toMatchObject({
      timeZone: "America/Los_Angeles",
      locale: "en-US",
    });
  });

  test("is placed on the tier that it wishes, or that can meet its wish", async () => {
    const { proxy } = await rig.place(id, wish({ sticky: { session: "a", minutes: 1 } }));
    expect(proxy).toMatchObject({ tier: "mobile", country: "us" });
    expect(await seen(firstPage(await byWire(rig, id)))).toMatchObject({ from: "127.0.0.3" });
    expect(mobile.asked.at(-1)?.name).toMatch(/^m-us-[0-9a-f]+$/);
  });

  test.each([{ tier: "static" }, { tier: "residential", asn: "1" }])(
    "with an exit that fails or that nobody has (%j) is placed without one",
    async (facts) => {
      const { proxy } = await rig.place(id, wish(facts));
      expect(proxy).toBeUndefined();
      const page = firstPage(await byWire(rig, id));
      expect(await seen(page)).toMatchObject({ from: "127.0.0.1" });
      expect(await page.evaluate(WHEREABOUTS)).toMatchObject({ timeZone: "UTC" });
    },
  );

  test("is confined all the same: a host that is not allowed never comes to the proxy", async () => {
    const page = await pageOf({ ...wish({}), allowedDomains: ["site.test"] });
    expect(await seen(page)).toMatchObject({ from: "127.0.0.2" });
    const before = residential.asked.length;
    expect((await page.goto(url("other.test")))?.status()).toBe(403);
    expect((await page.goto("http://10.0.0.1/"))?.status()).toBe(403);
    expect(residential.asked.length).toBe(before);
  });

  test("whose proxy dies reaches nothing more, and says why", async () => {
    const page = await pageOf(wish({ tier: "mobile" }));
    expect(await seen(page)).toMatchObject({ from: "127.0.0.3" });
    mobile.stop();
    await expect(page.goto(url())).rejects.toThrow("net::ERR_PROXY_CONNECTION_FAILED");
    await expect(page.request.get(url())).rejects.toThrow("Socks5 proxy");

    expect(rig.stderr).toContain("exit_failed");
    expect(rig.stderr).not.toMatch(/:pw@|wrong/);
  });

  test("of kind fast is refused: no fast browser has one", async () => {
    const refused = await rig.put(id, { ...wish({}), kind: "fast" });
    expect(refused.status).toBe(501);
    expect(await refused.json()).toMatchObject({
      code: "UnknownWish",
      error: expect.stringContaining("proxy"),
    });
  });

  test("is told of in the heartbeat: the exits that the pool is configured for", async () => {
    const { exits } = await rig.gateway.beat(() => true);
    expect(exits).toMatchObject([
      { tier: "residential", traits: ["state"] },
      { tier: "mobile", traits: ["sticky"] },
      { tier: "static", countries: ["de", "us"], traits: ["sticky"] },
    ]);
  });
});
