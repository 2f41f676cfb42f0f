import { allowanceText, readAllowance } from "../../host-kit/egress/allowance.ts";
import { isForbiddenAddress } from "../../host-kit/egress/forbidden.ts";
import type { APIResponse } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byWire, firstPage } from "./clients.ts";
import { Rig, type RigOptions } from "./rig.ts";
import { Site } from "./site.ts";

const REFUSED = [
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.168.1.1",
  "198.18.0.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:0:7f00:1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "fec0::1",
  "ff02::1",
  "2001:db8::1",
  "not-an-address",
  "",
];
const PUBLIC = [
  "1.1.1.1",
  "8.8.8.8",
  "100.63.255.255",
  "100.128.0.1",
  "172.15.0.1",
  "172.32.0.1",
  "192.167.255.255",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450::1",
];

test.each(REFUSED)("%s is refused", (address) => expect(isForbiddenAddress(address)).toBe(true));
test.each(PUBLIC)("%s is public", (address) => expect(isForbiddenAddress(address)).toBe(false));

test("SVC_EGRESS_ALLOW is a list of exact pairs", () => {
  const targets = readAllowance("127.0.0.1:80, [::1]:8080 Site.test:443");
  expect(targets.map(allowanceText)).toEqual(["127.0.0.1:80", "[::1]:8080", "site.test:443"]);
  expect(readAllowance("")).toEqual([]);
  for (const bad of ["127.0.0.1", "host:", ":80", "*", "host:x"])
    expect(() => readAllowance(bad)).toThrow(bad);
});

describe.skipIf(await missingBrowser())("what a session reaches", () => {
  let site: Site;
  let secret: Site;

  beforeAll(async () => {
    site = await new Site().start();
    secret = await new Site().start();
  });
  afterAll(() => {
    site.stop();
    secret.stop();
  });

  const notations = (port: number): string[] => [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://127.1:${port}/`,
    `http://0x7f.1:${port}/`,
    `http://0177.0.0.1:${port}/`,
    `http://2130706433:${port}/`,
    `http://0.0.0.0:${port}/`,
    `http://[::1]:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://[::ffff:7f00:1]:${port}/`,
    `http://[::127.0.0.1]:${port}/`,
    `http://[64:ff9b::7f00:1]:${port}/`,
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.0.1/",
    "http://100.64.0.1/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
  ];

  test("private and loopback targets are refused in every notation, from page and API", async () => {
    const rig = await started();
    await rig.place("s");
    const page = firstPage(await byWire(rig, "s"));
    for (const url of notations(secret.port)) {
      const response = await page.goto(url);
      expect([url, response?.status()]).toEqual([url, 403]);
      const api = await page.request.get(url).catch((error: Error) => error);
      expect([url, isReached(api)]).toEqual([url, false]);
    }
    await expect(page.goto(`https://127.0.0.1:${secret.port}/`)).rejects.toThrow(
      "net::ERR_BLOCKED_BY_ADMINISTRATOR (This address is private and not reachable from here.)",
    );
    const blank = await page.context().newPage();
    expect(await webSocketError(blank, `ws://127.0.0.1:${secret.port}/`)).toBe("error");
    expect(secret.seen).toEqual([]);
  });

  test("a raw CDP client cannot go around the forwarder", async () => {
    const rig = await started();
    await rig.place("s");
    const client = await RawCdp.open(rig, "s");
    const context = await client.call("Target.createBrowserContext", { proxyServer: "direct://" });
    const { browserContextId } = context.result ?? {};
    const target = await client.call("Target.createTarget", {
      url: "about:blank",
      browserContextId,
    });
    const { targetId } = target.result ?? {};
    const attached = await client.call("Target.attachToTarget", { targetId, flatten: true });
    const session = String(attached.result?.sessionId);
    for (const url of [`http://127.0.0.1:${secret.port}/`, "http://1.1.1.1/"]) {
      const { result } = await client.call("Page.navigate", { url }, session);
      expect([url, result?.errorText]).toEqual([url, expect.stringMatching(/^net::ERR_/)]);
    }
    expect(secret.seen).toEqual([]);
  });

  test("an exact pair is let through, by any name of its address, and nothing beside it", async () => {
    const allow = `127.0.0.1:${site.port}`;
    const rig = await started({ env: { SVC_EGRESS_ALLOW: allow } });
    expect((await rig.gateway.beat(() => true)).egressAllow).toEqual([allow]);
    await rig.place("s");
    const page = firstPage(await byWire(rig, "s"));
    for (const host of ["127.0.0.1", "localhost", "0x7f.1"]) {
      expect((await page.goto(`http://${host}:${site.port}/`))?.status()).toBe(200);
      expect((await page.request.get(`http://${host}:${site.port}/`)).status()).toBe(200);
    }
    expect((await page.goto(`http://127.0.0.1:${secret.port}/`))?.status()).toBe(403);
    expect((await page.goto(`http://[::1]:${site.port}/`))?.status()).toBe(403);
    expect(secret.seen).toEqual([]);
  });

  test("a pair whose host is a name is let through by its addresses", async () => {
    const rig = await started({ env: { SVC_EGRESS_ALLOW: `localhost:${site.port}` } });
    await rig.place("s");
    const page = firstPage(await byWire(rig, "s"));
    expect((await page.goto(`http://127.0.0.1:${site.port}/`))?.status()).toBe(200);
  });
});

async function started(options: RigOptions = {}): Promise<Rig> {
  const rig = await Rig.start(options);
  onTestFinished(() => rig.stop());
  return rig;
}

function isReached(answer: APIResponse | Error): boolean {
  return !(answer instanceof Error) && answer.status() < 400;
}

function webSocketError(page: { evaluate(script: string): Promise<unknown> }, url: string) {
  return page.evaluate(
    `new Promise((r) => { const s = new WebSocket("${url}"); s.onopen = () => r("open"); s.onerror = () => r("error"); })`,
  );
}
