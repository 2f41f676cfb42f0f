import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { byWire, firstPage } from "./clients.ts";
import { browsersOf } from "./processes.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

const IN_WORKER = `new Promise((resolve) => {
  const script = "postMessage(navigator.onLine)";
  const worker = new Worker(URL.createObjectURL(new Blob([script])));
  worker.onmessage = ({ data }) => resolve(data);
})`;
const CANDIDATES = `(async () => {
  const seen = [];
  const peer = new RTCPeerConnection();
  peer.createDataChannel("x");
  const done = new Promise((resolve) => {
    peer.onicecandidate = ({ candidate }) => (candidate ? seen.push(candidate.candidate) : resolve());
  });
  await peer.setLocalDescription();
  await done;
  return seen;
})()`;

describe.skipIf(await missingBrowser())("the network of a browser", () => {
  let rig: Rig;
  let site: Site;

  beforeAll(async () => {
    site = await new Site().start();
    rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}` } });
    await rig.place("s");
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
  });

  test("the first page, a new one, one of a context and workers are online", async () => {
    const browser = await byWire(rig, "s");
    const first = firstPage(browser);
    expect(await first.evaluate("navigator.onLine")).toBe(true);
    const second = await first.context().newPage();
    const third = await (await browser.newContext()).newPage();
    for (const page of [first, second, third]) {
      await page.goto(site.url);
      expect(await page.evaluate("navigator.onLine")).toBe(true);
      expect(await page.evaluate(IN_WORKER)).toBe(true);
    }
  });

  test("WebRTC tells no address", async () => {
    const page = await firstPage(await byWire(rig, "s"))
      .context()
      .newPage();
    await page.goto(site.url);
    const told = (await page.evaluate(CANDIDATES)) as string[];
    // The names of mDNS stand for the address, as in any browser.
    for (const candidate of told) expect(candidate).toMatch(/ [0-9a-f-]{36}\.local /);
  });

  test("there is no route to anywhere, and no address but one for documentation", async () => {
    const [browser] = browsersOf(rig.child.pid ?? 0);
    const table = async (name: string) => readFile(`/proc/${browser}/net/${name}`, "utf8");
    expect((await table("route")).trim().split("\n")).toHaveLength(1);
    for (const line of (await table("if_inet6")).trim().split("\n")) expect(line).toMatch(/ lo$/);
    const local = [...(await table("fib_trie")).matchAll(/-- (\S+)\n.* LOCAL/g)].map(
      (row) => row[1],
    );
    for (const address of local) expect(address).toMatch(/^(127\.|192\.0\.2\.1$)/);
  });

  test("no process of a slot keeps a right over its network", async () => {
    const browsers = browsersOf(rig.child.pid ?? 0);
    expect(browsers.length).toBeGreaterThan(0);
    for (const pid of browsers)
      expect(await readFile(`/proc/${pid}/status`, "utf8")).toMatch(
        /CapInh:\t0{16}\nCapPrm:\t0{16}\nCapEff:\t0{16}\nCapBnd:\t0{16}\n/,
      );
  });
});
