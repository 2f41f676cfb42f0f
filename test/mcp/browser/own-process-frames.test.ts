// Frames that have a process of their own. The service's browsers keep sites together, so that a browser of the test's own
// takes them apart.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Cdp } from "@svc/sdk/cdp.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { judge } from "../../../browser-pool/launch/fitness.ts";
import { type } from "../../../mcp/page/keyboard.ts";
import { navigate } from "../../../mcp/page/navigate.ts";
import { Page } from "../../../mcp/page/page.ts";
import { pictureOf } from "../../../mcp/page/picture.ts";
import { clickAt, pointOf } from "../../../mcp/page/pointer.ts";
import { read } from "../../../mcp/page/read.ts";
import { Tabs } from "../../../mcp/page/tabs.ts";
import { startTwoNamedSite } from "../../support/process/browser-tools.ts";
import { missingBrowser } from "../../support/process/needs.ts";
import { pages } from "./pages.ts";

const FLAGS = ["--headless", "--no-sandbox", "--site-per-process", "--remote-debugging-port=0"];

describe.skipIf(await missingBrowser())("frames with a process of their own", () => {
  let site: Awaited<ReturnType<typeof startTwoNamedSite>>;
  let browser: ChildProcess;
  let folder = "";
  let cdp: Cdp;
  let page: Page;

  beforeAll(async () => {
    site = await startTwoNamedSite(pages);
    const fit = await judge(process.env.SVC_CHROMIUM || null);
    if ("hint" in fit) throw new Error(fit.hint);
    folder = await mkdtemp(join(tmpdir(), "svc-"));
    const apart = `--isolate-origins=${site.other}`;
    const args = [...FLAGS, apart, `--user-data-dir=${folder}`, "about:blank"];
    browser = spawn(fit.programs.chromium, args, { stdio: ["ignore", "ignore", "pipe"] });
    cdp = await Cdp.connect(await endpointOf(browser));
    const tabs = await Tabs.open(cdp, new AbortController().signal);
    const url = `${site.site}/frames`;
    page = await navigate(tabs, { url, waitUntil: "load", timeoutMs: 60_000 });
  });
  afterAll(async () => {
    const gone = new Promise((resolve) => browser.once("exit", resolve));
    // The browser's socket may end before the answer.
    await cdp.send("Browser.close").catch(() => {});
    await gone;
    await rm(folder, { recursive: true, force: true });
    site.close();
  });

  test("their elements have refs, are clicked and are typed into", async () => {
    const { targetInfos } = await cdp.send("Target.getTargets", { filter: [{}] });
    const kinds = (targetInfos as { type: string }[]).map((info) => info.type);
    expect(kinds).toContain("iframe");
    const wanted = { format: "snapshot", offset: 0, most: 20_000 } as const;
    const { text } = await read(page, wanted);
    const [, button = ""] = /- button "Cross" \[ref=(f\d+e\d+)\]/.exec(text) ?? [];
    await clickAt(page, await pointOf(page, await page.element(button)));
    await expect.poll(async () => (await page.where()).title).toBe("Cross hit");
    const [, field = ""] = /- textbox "Cross field" \[ref=(f\d+e\d+)\]/.exec(text) ?? [];
    await type(page, "ab", { element: await page.element(field) });
    await expect.poll(async () => (await page.where()).title).toBe("Cross ab");
    const { width, height } = await pictureOf(page, { element: await page.element(field) });
    expect(width).toBeGreaterThan(height);
  });

  test("one in a frame is covered by what covers the frame", async () => {
    const url = `${site.site}/covered-frame`;
    await navigate(page.tabs, { url, waitUntil: "load", timeoutMs: 60_000 });
    const now = await Page.attach(page.tabs, await page.tabs.current());
    const { text } = await read(now, { format: "snapshot", offset: 0, most: 20_000 });
    const [, button = ""] = /- button "Cross" \[ref=(f\d+e\d+)\]/.exec(text) ?? [];
    await expect(pointOf(now, await now.element(button))).rejects.toMatchObject({
      code: "ElementObscured",
      message: expect.stringContaining('id="banner"'),
    });
  });
});

/** The URL at which a browser says that it listens. */
async function endpointOf({ stderr }: ChildProcess): Promise<string> {
  if (!stderr) throw new Error("the browser has no stderr");
  for await (const line of createInterface({ input: stderr })) {
    const [, url] = /^DevTools listening on (ws:\S+)/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error("the browser ended before it listened");
}
