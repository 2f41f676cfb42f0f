import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byCdp, byWire } from "./clients.ts";
import { OddOrigin, response } from "./odd-origins.ts";
import { Rig } from "./rig.ts";

// Each thing is compared with what the same Chromium does here without pool and proxy.
describe.skipIf(await missingBrowser())("what a browser behind the forwarder tells", () => {
  let rig: Rig;
  let plain: Browser;
  let origins: Record<string, OddOrigin>;
  let refused: string;
  const urlOf = (name: string): string => `${origins[name]?.url}/`;
  /** The first request that the good origin got. A browser that waits for a connection opens another, and one of the two stays silent. */
  const heardSince = (count: number): string | undefined =>
    origins.good?.heard.slice(count).find((text) => text !== "");

  beforeAll(async () => {
    const gone = await OddOrigin.start("");
    refused = `${gone.url}/`;
    gone.stop();
    origins = {
      garbage: await OddOrigin.start("this is no http\r\n\r\n"),
      empty: await OddOrigin.start(""),
      reset: await OddOrigin.start((socket) => void socket.resetAndDestroy()),
      good: await OddOrigin.start(response("200 OK", "<title>good</title>")),
      proxyAuth: await OddOrigin.start(
        response("407 Mine", "my own 407", ['proxy-authenticate: Basic realm="x"']),
      ),
      bare: await OddOrigin.start(response("407 Mine", "my own 407")),
    };
    const allowed = [refused, ...Object.values(origins).map(({ url }) => url)];
    const pairs = allowed.map((url) => new URL(url).host).join(",");
    rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: pairs } });
    await rig.place("s");
    const found = await judge(null);
    if ("hint" in found) throw new Error(found.hint);
    plain = await chromium.launch({
      executablePath: found.programs.chromium,
      chromiumSandbox: process.getuid?.() !== 0,
    });
  });
  afterAll(async () => {
    await plain.close();
    await rig.stop();
    for (const origin of Object.values(origins)) origin.stop();
  });

  const targets: [name: string, url: () => string][] = [
    ["refuses", () => refused],
    ["has no name", () => "http://no-such-name.invalid/"],
    ["resets", () => urlOf("reset")],
    ["answers garbage", () => urlOf("garbage")],
    ["answers nothing", () => urlOf("empty")],
    ["answers 407", () => urlOf("proxyAuth")],
    ["answers 407 without a challenge", () => urlOf("bare")],
    ["refuses over TLS", () => refused.replace("http:", "https:")],
    ["has no name over TLS", () => "https://no-such-name.invalid/"],
  ];

  test.each(targets)("a target that %s ends a navigation as without a proxy", async (_, url) => {
    const expected = await outcome(await plain.newPage(), url());
    for (const browser of [await byWire(rig, "s"), await byCdp(rig, "s")]) {
      const page = await (await browser.newContext()).newPage();
      expect(await outcome(page, url())).toEqual(expected);
      await page.context().close();
      await browser.close();
    }
  });

  test("a page of a good origin hears of failures as without a proxy", async () => {
    const browser = await byWire(rig, "s");
    for (const [, url] of targets.slice(0, 5)) {
      const [expected, told] = [
        await fetchOutcome(await plain.newPage(), urlOf("good"), url()),
        await fetchOutcome(await (await browser.newContext()).newPage(), urlOf("good"), url()),
      ];
      expect(told).toEqual(expected);
    }
    await browser.close();
  });

  test("plain http arrives byte for byte as a browser sends it", async () => {
    const good = origins.good;
    const ask = async (browser: Browser): Promise<string | undefined> => {
      const page = await (await browser.newContext({ userAgent: "the same" })).newPage();
      const count = good?.heard.length ?? 0;
      await page.goto(urlOf("good"));
      return heardSince(count);
    };
    const expected = await ask(plain);
    expect(expected).toContain("Connection: keep-alive\r\n");
    expect(await ask(await byWire(rig, "s"))).toBe(expected);
  });

  test("an API request arrives without headers of a proxy", async () => {
    const good = origins.good;
    const ask = async (browser: Browser): Promise<string | undefined> => {
      const context = await browser.newContext({ userAgent: "the same" });
      const count = good?.heard.length ?? 0;
      await context.request.get(urlOf("good"));
      return heardSince(count);
    };
    // Behind a proxy Playwright opens a connection for each request, and says so.
    const expected = (await ask(plain))?.replace("Connection: keep-alive", "Connection: close");
    expect(await ask(await byWire(rig, "s"))).toBe(expected);
  });

  test("no address of the forwarder is told", async () => {
    const page = await (await (await byWire(rig, "s")).newContext()).newPage();
    const answer = await page.goto(urlOf("good"));
    expect(await answer?.serverAddr()).toBeNull();
    const client = await RawCdp.open(rig, "s");
    const session = await client.attach();
    await client.call("Network.enable", {}, session);
    await client.call("Page.navigate", { url: urlOf("good") }, session);
    await expect
      .poll(() => client.heard.some(({ method }) => method === "Network.responseReceived"))
      .toBe(true);
    expect(JSON.stringify(client.heard)).not.toMatch(/remoteIPAddress|3128/);
  });

  test("a refused target says why, on a page and in an error", async () => {
    const page = await (await (await byWire(rig, "s")).newContext()).newPage();
    expect((await page.goto("http://10.0.0.1/"))?.status()).toBe(403);
    expect(await page.textContent("body")).toContain("private and not reachable from here");
    for (const url of ["https://10.0.0.1/", "https://10.0.0.1:8443/"])
      await expect(page.goto(url)).rejects.toThrow(
        "net::ERR_BLOCKED_BY_ADMINISTRATOR (This address is private and not reachable from here.)",
      );
    await expect(page.goto("https://1.1.1.1:587/")).rejects.toThrow(/ERR_UNSAFE_PORT|Mail ports/);
  });
});

/** How a navigation ends: its error and the failed request, or what the page shows. */
async function outcome(page: Page, url: string): Promise<unknown> {
  const failed: (string | undefined)[] = [];
  page.on("requestfailed", (request) => failed.push(request.failure()?.errorText));
  try {
    const answer = await page.goto(url);
    return { status: answer?.status(), body: await answer?.text(), failed };
  } catch (error) {
    const [first] = error instanceof Error ? error.message.split("\n") : [];
    return { first, failed };
  }
}

async function fetchOutcome(page: Page, from: string, url: string): Promise<unknown> {
  const failed: (string | undefined)[] = [];
  const lines: string[] = [];
  page.on("requestfailed", (request) => failed.push(request.failure()?.errorText));
  page.on("console", (line) => lines.push(line.text()));
  await page.goto(from);
  const told = await page.evaluate(
    `fetch("${url}", { mode: "no-cors" }).then(() => "fine", String)`,
  );
  await page.evaluate(`new Promise((resolve) => {
    const image = new Image();
    image.onerror = resolve;
    image.src = "${url}image";
  })`);
  return { told, failed, lines };
}
