import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser, missingStealth } from "../support/process/needs.ts";
import { RawCdp, byWire, firstPage } from "./clients.ts";
import { EgressSite } from "./egress-site.ts";
import { Rig } from "./rig.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
const main = fileURLToPath(new URL("named-hosts.ts", import.meta.url));
const OUTSIDE = "This host is not among the allowed domains of this session.";
/** A page's or worker's fetch: the status, or that there was no answer. */
const FETCH = `((url) => fetch(url).then((answer) => answer.status, () => "failed"))`;
const BLOCKED = `net::ERR_BLOCKED_BY_ADMINISTRATOR (${OUTSIDE})`;

describe.skipIf(isMissing)("allowed domains", { timeout: 120_000 }, () => {
  let rig: Rig;
  let site: EgressSite;
  let id = "s0";
  let count = 0;

  beforeAll(async () => {
    site = await new EgressSite().start();
    rig = await Rig.start({
      kind: "stealth",
      main,
      env: { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}`, SVC_WARM_FAST: "0" },
    });
    await rig.warm();
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
  });
  beforeEach(() => {
    count += 1;
    id = `s${count}`;
  });
  afterEach(async () => {
    await rig.delete(id);
    site.seen.length = 0;
  });

  const placed = async (allowedDomains?: string[]): Promise<Page> => {
    await rig.place(id, { ...(allowedDomains && { allowedDomains }) });
    return firstPage(await byWire(rig, id));
  };
  const replace = (domains: unknown, of = id): Promise<Response> =>
    rig.call("POST", `/slots/${of}/allowed-domains`, of, { domains });
  const statusOf = async (page: Page, host: string): Promise<number | undefined> =>
    (await page.goto(site.at(host)))?.status();

  test("are reached, with what is below them, and nothing else is", async () => {
    expect((await rig.gateway.beat(() => true)).keeps).toContain("allowedDomains");
    const page = await placed(["good.test"]);
    expect(await statusOf(page, "good.test")).toBe(200);
    expect(await statusOf(page, "a.b.good.test")).toBe(200);
    expect(await statusOf(page, "GOOD.test.")).toBe(200);
    for (const host of ["bad.test", "verygood.test", "good.test.bad.test", "127.0.0.1", "0x7f.1"]) {
      const refused = await page.goto(site.at(host));
      expect([host, refused?.status(), await refused?.text()]).toEqual([host, 403, OUTSIDE]);
    }
    await expect(page.goto("https://bad.test/")).rejects.toThrow(BLOCKED);
    expect((await page.request.get(site.at("good.test"))).status()).toBe(200);
    expect((await page.request.get(site.at("bad.test"))).status()).toBe(403);
    expect(hostsSeen()).toEqual(["a.b.good.test", "good.test"]);
  });

  test("hold for redirects, frames, fetches, beacons, WebSockets and workers of a page that is allowed", async () => {
    const page = await placed(["good.test"]);
    const bad = encodeURIComponent(site.at("bad.test"));
    expect((await page.goto(site.at("good.test", `/to?${bad}`)))?.status()).toBe(403);
    await page.goto(site.at("good.test", `/frame?${bad}`));
    await page.goto(site.at("good.test"));
    const fetched = (url: string): Promise<unknown> => page.evaluate(`${FETCH}("${url}")`);
    expect(await fetched(site.at("bad.test"))).toBe("failed");
    expect(await fetched(site.at("good.test", `/to?${bad}`))).toBe("failed");
    expect(await socketState(page, "bad.test")).toBe("error");
    expect(await socketState(page, "good.test")).toBe("open");
    await page.evaluate(`navigator.sendBeacon("${site.at("bad.test")}")`);
    await page.evaluate(`for (const rel of ["prefetch", "preconnect", "dns-prefetch", "prerender"])
      document.head.append(Object.assign(document.createElement("link"), { rel, href: "${site.at("bad.test")}" }))`);
    const fromWorker = await page.evaluate(`new Promise((resolve) => {
      const code = \`${FETCH}("${site.at("bad.test")}").then(postMessage)\`;
      new Worker(URL.createObjectURL(new Blob([code]))).onmessage = ({ data }) => resolve(data);
    })`);
    expect(fromWorker).toBe("failed");
    expect(hostsSeen()).toEqual(["good.test"]);
  });

  test("hold for service workers, and for what a page fetches through one", async () => {
    const page = await placed(["localhost"]);
    await page.goto(site.at("localhost"));
    const asked = (url: string): Promise<unknown> =>
      page.evaluate(`(async () => {
        await navigator.serviceWorker.register("/worker.js");
        const { active } = await navigator.serviceWorker.ready;
        const { port1, port2 } = new MessageChannel();
        active.postMessage("${url}", [port2]);
        return new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
      })()`);
    expect(await asked(site.at("localhost"))).toBe(200);
    expect(await asked(site.at("bad.test"))).toBe("failed");
    expect(hostsSeen()).toEqual(["localhost"]);
  });

  test("hold below the forwarder, too: no name, no address and no proxy leads around it", async () => {
    await rig.place(id, { allowedDomains: ["good.test", "good.inner", "good.outer"] });
    const client = await RawCdp.open(rig, id);
    const direct = await navigator(client, { proxyServer: "direct://" });
    expect(await direct("http://bad.outer/")).toBe("net::ERR_NAME_NOT_RESOLVED");
    // Its only address is a private one, which nobody is told.
    expect(await direct("http://good.inner/")).toBe("net::ERR_NAME_NOT_RESOLVED");
    // The name is known, and its packets go nowhere.
    for (const url of ["http://good.outer/", "http://1.1.1.1/", "http://[2606:4700::1111]/"])
      expect([url, await direct(url)]).toEqual([url, "net::ERR_ADDRESS_UNREACHABLE"]);
    // Loopback is the slot's own, where the forwarder alone listens.
    expect(await direct(site.at("127.0.0.1"))).toBe("net::ERR_CONNECTION_REFUSED");
    const proxied = await navigator(client, { proxyServer: `http://good.test:${site.port}` });
    expect(await proxied(site.at("bad.test"))).toMatch(/^$|^net::ERR_/);
    expect(site.seen).toEqual([]);
  });

  test("are replaced at once: what leads elsewhere is closed, and an empty list lifts them", async () => {
    const page = await placed(["good.test"]);
    await page.goto(site.at("good.test"));
    const closed = page.evaluate(`new Promise((resolve) => {
      const socket = new WebSocket("${site.at("good.test").replace("http", "ws")}");
      socket.onopen = () => (document.title = "open");
      socket.onclose = () => resolve("closed");
    })`);
    await page.waitForFunction(`document.title === "open"`);
    expect((await replace(["other.test"])).status).toBe(200);
    expect(await closed).toBe("closed");
    expect(await statusOf(page, "good.test")).toBe(403);
    expect(await statusOf(page, "other.test")).toBe(200);
    expect((await replace([])).status).toBe(200);
    expect(await statusOf(page, "good.test")).toBe(200);
    expect(await statusOf(page, "bad.test")).toBe(200);
    expect(await statusOf(page, "any.inner")).toBe(403);
  });

  test("cannot be given to a session that was placed without, nor to none", async () => {
    const page = await placed();
    const refused = await replace(["good.test"]);
    const error = "This session was placed without allowed domains.";
    expect([refused.status, await refused.json()]).toEqual([409, { error }]);
    expect(await statusOf(page, "bad.test")).toBe(200);
    const unknown = await replace(["good.test"], "nobody");
    expect([unknown.status, await unknown.text()]).toEqual([404, "No such session\n"]);
    const malformed = await replace("good.test");
    expect([malformed.status, await malformed.text()]).toEqual([400, "Malformed domains\n"]);
    expect((await rig.call("GET", `/slots/${id}/allowed-domains`, id)).status).toBe(405);
    expect((await rig.call("POST", `/slots/${id}/other`, id)).status).toBe(404);
  });

  test("are refused for a browser of kind fast, which keeps none", async () => {
    const answer = await rig.put(id, { kind: "fast", allowedDomains: ["good.test"] });
    expect([answer.status, await answer.json()]).toMatchObject([501, { code: "UnknownWish" }]);
  });

  const hostsSeen = (): string[] =>
    [...new Set(site.seen.map((host) => host.replace(/\.?:\d+$/, "")))].toSorted();

  const socketState = (page: Page, host: string): Promise<unknown> =>
    page.evaluate(`new Promise((resolve) => {
      const socket = new WebSocket("${site.at(host).replace("http", "ws")}");
      socket.onopen = () => resolve("open");
      socket.onerror = () => resolve("error");
    })`);
});

/** Navigates a page of a new context, and returns the error that the browser tells. */
async function navigator(client: RawCdp, context: object) {
  const { result } = await client.call("Target.createBrowserContext", context);
  const browserContextId = result?.["browserContextId"];
  const made = await client.call("Target.createTarget", { url: "about:blank", browserContextId });
  const targetId = made.result?.["targetId"];
  const attached = await client.call("Target.attachToTarget", { targetId, flatten: true });
  const session = String(attached.result?.["sessionId"]);
  return async (url: string): Promise<string> => {
    const answer = await client.call("Page.navigate", { url }, session);
    return String(Object(answer.result).errorText ?? "");
  };
}
