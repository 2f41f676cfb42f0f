import { SessionCreated } from "@svc/contract/browser/session.ts";
import { chromium } from "playwright-core";
import puppeteer from "puppeteer-core";
import { afterAll, describe, expect, test } from "vitest";
import { PATIENT, testGateway } from "../support/process/gateway.ts";
import { PoolProcess } from "../support/process/pool.ts";

const gateway = await testGateway(PATIENT);
const pool = await PoolProcess.start(gateway, {});
const key = await gateway.newKey();
afterAll(async () => {
  await pool.close();
  await gateway.close();
});

async function create(): Promise<SessionCreated> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(new URL("/sessions", gateway.url), { method: "POST", headers });
  expect(response.status).toBe(201);
  return SessionCreated.parse(await response.json());
}

const httpOf = (endpoint: string): string => endpoint.replace(/^ws/, "http");

describe("a client that discovers a browser over HTTP", () => {
  test("is told the version and the one socket, which works", async () => {
    const { cdpEndpoint } = await create();
    const response = await fetch(`${httpOf(cdpEndpoint)}/json/version`);
    expect(await response.json()).toEqual({
      Browser: expect.stringMatching(/^(Headless)?Chrome\/\d+\./),
      "Protocol-Version": expect.stringMatching(/^\d+\.\d+$/),
      "User-Agent": expect.stringMatching(/^Mozilla\/5\.0 /),
      "V8-Version": expect.stringMatching(/^\d+\./),
      "WebKit-Version": expect.stringMatching(/^537\.36 \(@/),
      webSocketDebuggerUrl: cdpEndpoint,
    });
  });

  test("is told the host by which it came", async () => {
    const { cdpEndpoint } = await create();
    const url = new URL(`${httpOf(cdpEndpoint)}/json/version`);
    url.hostname = "localhost";
    const { webSocketDebuggerUrl } = (await (await fetch(url)).json()) as Record<string, string>;
    expect(webSocketDebuggerUrl).toBe(cdpEndpoint.replace("127.0.0.1", "localhost"));
  });

  test.each(["/json", "/json/list", "/json/list/"])("finds the pages at %s", async (path) => {
    const { cdpEndpoint } = await create();
    const response = await fetch(httpOf(cdpEndpoint) + path);
    expect(await response.json()).toEqual([
      {
        id: expect.stringMatching(/^[0-9A-F]{32}$/),
        type: "page",
        title: "about:blank",
        url: "about:blank",
        description: "",
      },
    ]);
  });

  test.each(["", "/"])("connects with Playwright by an http URL that ends in '%s'", async (end) => {
    const { cdpEndpoint } = await create();
    const browser = await chromium.connectOverCDP(httpOf(cdpEndpoint) + end);
    expect(browser.contexts()[0]?.pages()).toHaveLength(1);
    await browser.close();
  });
});

test("an endpoint with a slash at its end is the same endpoint", async () => {
  const { wsEndpoint, cdpEndpoint } = await create();
  const wire = await chromium.connect(`${wsEndpoint}/`);
  const cdp = await puppeteer.connect({ browserWSEndpoint: `${cdpEndpoint}/` });
  expect(await cdp.pages()).toHaveLength(1);
  await cdp.disconnect();
  await wire.close();
});
