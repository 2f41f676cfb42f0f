import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { confine } from "../../browser-pool/playwright-process/confinement.ts";
import {
  ServedVersions,
  UnknownPlaywright,
} from "../../browser-pool/playwrights/served-versions.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { byWireOf, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";

test("a Playwright that is built otherwise is not confined, and so not served", () => {
  const stranger = { contexts: () => [], bind: () => Promise.reject(new Error("bound")) };
  expect(() => confine(stranger, "http://proxy")).toThrow(UnknownPlaywright);
});

test("a version that is not served is not the newest, and not found", () => {
  const served = new ServedVersions();
  expect(served.list).toEqual([...WIRE_VERSIONS]);
  served.refuse("1.65");
  expect([served.newest, served.find("1.65"), served.find("1.63")]).toEqual(["1.64", null, "1.63"]);
  served.refuse("1.64");
  served.refuse("1.63");
  expect(served.newest).toBeNull();
});

describe.skipIf(await missingBrowser())("wire versions", () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
  });
  afterAll(() => rig.stop());

  /** How an upgrade by a client of this name is answered. */
  async function upgrade(id: string, agent: string): Promise<{ status: number; text: string }> {
    const { url, headers } = await rig.socket("ws", id);
    const socket = new WebSocket(url, { headers: { ...headers, "user-agent": agent } });
    return new Promise((resolve) => {
      socket.once("open", () => {
        socket.close();
        resolve({ status: 101, text: "" });
      });
      socket.once("unexpected-response", (_request, response) => {
        let text = "";
        response.on("data", (chunk) => (text += String(chunk)));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
    });
  }

  test("clients of every version on one browser at once see each other's pages", async () => {
    await rig.place("all");
    const connected = WIRE_VERSIONS.map((version) => byWireOf(version, rig, "all"));
    const browsers = await Promise.all(connected);
    for (const [at, browser] of browsers.entries()) {
      expect(browser.contexts()).toHaveLength(1);
      const page = await browser.contexts()[0]?.newPage();
      await page?.goto(`data:text/html,<title>${WIRE_VERSIONS[at]}</title>`);
    }
    for (const browser of browsers) {
      const pages = () => browser.contexts()[0]?.pages() ?? [];
      const titles = async (): Promise<string[]> =>
        (await Promise.all(pages().map((page) => page.title()))).toSorted();
      await expect.poll(titles).toEqual(["", "1.63", "1.64", "1.65"]);
    }
    await rig.delete("all");
  });

  test("a client that leaves and comes back with another version finds its tabs", async () => {
    await rig.place("switch");
    const first = await byWireOf("1.63", rig, "switch");
    await firstPage(first).goto("data:text/html,<title>kept</title>");
    await first.close();
    expect(await firstPage(await byWireOf("1.64", rig, "switch")).title()).toBe("kept");
    await rig.delete("switch");
  });

  test("a placement that names a served version is served", async () => {
    for (const wireVersion of WIRE_VERSIONS) {
      const { bootId } = await rig.place(wireVersion, { wireVersion });
      expect(bootId).toBe(rig.gateway.last?.bootId);
      await rig.delete(wireVersion);
    }
  });

  test("the registration tells them", async () => {
    expect((await rig.gateway.beat(() => true)).versions.wire).toEqual([...WIRE_VERSIONS]);
  });

  test("any other Playwright is 428 in plain text, another client gets the newest", async () => {
    await rig.place("other");
    for (const version of ["1.50.1", "1.62.0", "1.66.0", "2.0.0"]) {
      const { status, text } = await upgrade("other", `Playwright/${version} (x64; debian 12)`);
      expect(status).toBe(428);
      expect(text).toContain(WIRE_VERSIONS.join(", "));
      expect(text).toContain(version.split(".", 2).join("."));
    }
    for (const agent of ["Playwright/1.64.9 (x64)", "curl/8"])
      expect(await upgrade("other", agent)).toEqual({ status: 101, text: "" });
    await rig.delete("other");
  });
});
