import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import { chromium } from "playwright-core";
import puppeteer from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import WebSocket from "ws";
import { missingBrowser } from "../support/process/needs.ts";
import { playwrightOf } from "./clients.ts";
import { Rig } from "./rig.ts";

const IS_CDP = "This is the CDP endpoint: use chromium.connectOverCDP(cdpEndpoint).";
const IS_WIRE = "This is Playwright's endpoint: use chromium.connect(wsEndpoint)";

describe.skipIf(await missingBrowser())("an endpoint given to the wrong call", () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.place("s");
  });
  afterAll(() => rig.stop());

  test.each(WIRE_VERSIONS)(
    "tells Playwright %s that the CDP endpoint is not for connect",
    async (version) => {
      const { url, headers } = await rig.socket("cdp", "s");
      await expect(playwrightOf(version).connect(url, { headers })).rejects.toThrow(IS_CDP);
    },
  );

  test.each(WIRE_VERSIONS)(
    "tells Playwright %s that its own endpoint is not for connectOverCDP",
    async (version) => {
      const { url, headers } = await rig.socket("ws", "s");
      const connecting = playwrightOf(version).connectOverCDP(url, { headers });
      await expect(connecting).rejects.toThrow(IS_WIRE);
    },
  );

  test("tells Puppeteer that Playwright's endpoint is not for it", async () => {
    const { url, headers } = await rig.socket("ws", "s");
    const connecting = puppeteer.connect({ browserWSEndpoint: url, headers });
    await expect(connecting).rejects.toThrow(IS_WIRE);
  });

  test.each([
    ["cdp", '{"id":1,"guid":"","method":"initialize","params":{},"metadata":{}}', IS_CDP],
    ["ws", '{"id":1,"method":"Browser.getVersion"}', IS_WIRE],
  ] as const)("closes the socket with the reason, on /%s", async (kind, greeting, reason) => {
    const { url, headers } = await rig.socket(kind, "s");
    const socket = new WebSocket(url, { headers });
    const closed = new Promise((resolve) => {
      socket.once("close", (code, why) => resolve({ code, why: String(why) }));
    });
    socket.once("open", () => socket.send(greeting));
    expect(await closed).toEqual({
      code: CLOSE_CODES.wrongEndpoint,
      why: expect.stringContaining(reason),
    });
  });

  test("leaves the session to those who call rightly", async () => {
    const { url, headers } = await rig.socket("ws", "s");
    const browser = await chromium.connect(url, { headers });
    expect(browser.contexts()[0]?.pages()).toHaveLength(1);
    await browser.close();
  });
});
