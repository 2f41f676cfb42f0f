import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { openapi } from "../../scripts/docs/openapi.ts";
import { type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingBrowser } from "../support/process/needs.ts";

const PHONE = { width: 390, height: 844 };

let gateway: TestGateway;
let reader: Browser;
let page: Page;
/** What the page has asked for, and what it was refused. */
const requests: string[] = [];
const refused: string[] = [];

/** A browser of a person who reads, with the protections that everybody's has. */
async function launchReader(): Promise<Browser> {
  const fit = await judge(process.env.SVC_CHROMIUM || null);
  if ("hint" in fit) throw new Error(fit.hint);
  return chromium.launch({ executablePath: fit.programs.chromium, args: ["--no-sandbox"] });
}

async function open(options: Parameters<Browser["newPage"]>[0] = {}): Promise<Page> {
  const opened = await reader.newPage(options);
  opened.on("request", (request) => requests.push(request.url()));
  opened.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) refused.push(message.text());
  });
  opened.on("pageerror", (error) => refused.push(error.message));
  await opened.goto(new URL("/docs", gateway.url).href);
  await opened.locator(".opblock").first().waitFor();
  return opened;
}

/** For a person who wants to look at it: SVC_KEEP_SCREENSHOT names a folder. */
async function keep(name: string): Promise<void> {
  const folder = process.env.SVC_KEEP_SCREENSHOT;
  if (folder) await page.screenshot({ path: `${folder}/docs-${name}.png` });
}

/** The answer of an operation that is tried on the page. */
async function tried(operation: string): Promise<{ status: string; body: string }> {
  const block = page.locator(`[id$="-${operation}"]`);
  await block.locator(".opblock-summary-control").click();
  await block.getByRole("button", { name: "Execute" }).click();
  const answer = block.locator(".live-responses-table .response").first();
  return {
    status: await answer.locator(".response-col_status").innerText(),
    body: await answer.locator("pre").first().innerText(),
  };
}

describe.skipIf(await missingBrowser())("the page of the API", () => {
  beforeAll(async () => {
    gateway = await testGateway();
    reader = await launchReader();
    page = await open();
  });
  afterAll(async () => {
    await reader.close();
    await gateway.close();
  });

  test("shows every operation of openapi.json under its subject", async () => {
    const methods = Object.values(openapi()["paths"] as Record<string, object>);
    const count = methods.flatMap((path) => Object.keys(path)).length;
    expect(await page.locator(".opblock").count()).toBe(count);
    expect(await page.locator(".opblock-tag").first().innerText()).toBe("Browser sessions");
    await keep("light");
  });

  test("tries a route that needs no key", async () => {
    const { status, body } = await tried("health");
    expect(status).toContain("200");
    expect(JSON.parse(body)).toMatchObject({ ok: true, pools: 0 });
    await keep("tried");
  });

  test("tries a route with a key that is entered, and the example of its body", async () => {
    expect(await tried("createProfile")).toMatchObject({ status: expect.stringContaining("401") });
    await page.locator(".btn.authorize").first().click();
    const dialog = page.locator(".modal-ux");
    await dialog
      .locator("input")
      .first()
      .fill(await gateway.newKey());
    await keep("key");
    await dialog.getByRole("button", { name: "Apply credentials" }).first().click();
    await dialog.locator(".close-modal").click();
    const block = page.locator(`[id$="-createProfile"]`);
    await block.getByRole("button", { name: "Execute" }).click();
    const answer = block.locator(".live-responses-table .response").first();
    await answer.locator(".response-col_status", { hasText: "201" }).waitFor();
    expect(await answer.innerText()).toContain('"name": "work"');
    expect(await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")).toBe(
      "{}",
    );
  });

  test.each([
    ["dark", { colorScheme: "dark" as const }],
    ["phone", { viewport: PHONE, isMobile: true, colorScheme: "light" as const }],
    ["phone-dark", { viewport: PHONE, isMobile: true, colorScheme: "dark" as const }],
  ])("is readable in %s", async (name, options) => {
    await page.close();
    page = await open(options);
    await page.locator(`[id$="-createSandbox"] .opblock-summary-control`).click();
    await page.locator(`[id$="-createSandbox"] .opblock-body`).waitFor();
    await keep(name);
    const { overflow, background } = (await page.evaluate(`({
      overflow: document.documentElement.scrollWidth - innerWidth,
      background: getComputedStyle(document.documentElement).backgroundColor,
    })`)) as { overflow: number; background: string };
    expect(overflow).toBeLessThanOrEqual(0);
    const isDark = Number(/\d+/.exec(background)?.[0]) < 128;
    expect(isDark).toBe(options.colorScheme === "dark");
  });

  test("has asked nobody but this service, and was refused nothing", () => {
    const elsewhere = requests.filter(
      (url) => !url.startsWith(`${gateway.url.origin}/`) && !url.startsWith("data:"),
    );
    expect(requests.length).toBeGreaterThan(10);
    expect(elsewhere).toEqual([]);
    expect(refused).toEqual([]);
  });
});
