import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { PlaceSlot } from "@svc/contract/host-protocol/slots.ts";
import { type Browser, chromium } from "playwright-core";
import { RawCdp, byPuppeteer, byWireOf } from "../clients.ts";
import type { Rig } from "../rig.ts";
import type { Subject } from "./lookout.ts";
import { FULL, openScreen } from "./screen.ts";

type Drive = (rig: Rig, id: string, url: string) => Promise<unknown>;

let sessions = 0;

/** A session of the pool. */
const session = (
  name: string,
  kind: BrowserKind,
  drive: Drive,
  wishes: Partial<PlaceSlot> = {},
): Subject => ({
  name: `${kind}, ${name}`,
  visit: async ({ rig, site }) => {
    const id = `seen-${(sessions += 1)}`;
    await rig.place(id, { kind, ...wishes });
    await drive(rig, id, site.url);
    return () => rig.delete(id);
  },
});

async function openTab(browser: Browser, url: string): Promise<void> {
  const page = await browser.contexts()[0]?.newPage();
  // The driver has used the tab before the page comes.
  await page?.evaluate("1 + 1");
  await page?.goto(url);
}

const byPlaywright: Drive = async (rig, id, url) => openTab(await byWireOf("1.65", rig, id), url);
const byPatchright: Drive = async (rig, id, url) => openTab(await byWireOf("1.63", rig, id), url);

const byPuppeteers: Drive = async (rig, id, url) => {
  const page = await (await byPuppeteer(rig, id)).newPage();
  await page.evaluate("1 + 1");
  await page.goto(url);
};

const byRawCalls: Drive = async (rig, id, url) => {
  const raw = await RawCdp.open(rig, id);
  const page = await raw.attach();
  await raw.call("Runtime.evaluate", { expression: "1 + 1" }, page);
  await raw.call("Page.navigate", { url }, page);
};

const inNewTab: Drive = async (rig, id, url) => {
  const raw = await RawCdp.open(rig, id);
  const { result } = await raw.call("Target.createTarget", { url });
  const attach = { targetId: result?.["targetId"], flatten: true };
  const attached = await raw.call("Target.attachToTarget", attach);
  const page = String(attached.result?.["sessionId"]);
  await raw.call("Runtime.evaluate", { expression: "1 + 1" }, page);
};

export const FAST_BY_PLAYWRIGHT = session("Playwright on /ws", "fast", byPlaywright);
export const STEALTH_BY_RAW_CALLS = session("raw calls on /cdp", "stealth", byRawCalls);
export const STEALTH_RECORDED = session("raw calls on /cdp, recorded", "stealth", byRawCalls, {
  recording: {},
});
export const STEALTH_IN_NEW_TAB = session("raw calls in a new tab", "stealth", inNewTab);
export const STEALTH_BY_PUPPETEER = session("puppeteer on /cdp", "stealth", byPuppeteers);
export const STEALTH_BY_PATCHRIGHT = session("patchright on /ws", "stealth", byPatchright);
export const STEALTH_BY_PLAYWRIGHT = session("Playwright on /ws", "stealth", byPlaywright);

/** A browser as it is installed, on a screen, that nobody drives. */
export const PLAIN: Subject = {
  name: "plain headed, nobody",
  visit: async ({ site }) => {
    const screen = await openScreen();
    const profile = await mkdtemp(join(tmpdir(), "plain-"));
    // Root has no other way to start a Chromium; pages cannot tell.
    const args = ["--no-sandbox", "--no-first-run", `--user-data-dir=${profile}`, site.url];
    const env = { PATH: "/usr/bin:/bin", DISPLAY: screen.display };
    const browser = spawn(FULL, args, { stdio: "ignore", env, detached: true });
    return async () => {
      const ended = once(browser, "exit");
      if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
      await ended;
      screen.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    };
  },
};

/** The same browser as Playwright launches it. */
export const PLAIN_BY_PLAYWRIGHT: Subject = {
  name: "plain headed, Playwright",
  visit: async ({ site }) => {
    const screen = await openScreen();
    const env = { PATH: "/usr/bin:/bin", DISPLAY: screen.display };
    const browser = await chromium.launch({ executablePath: FULL, headless: false, env });
    const page = await browser.newPage({ viewport: null });
    await page.goto(site.url);
    return async () => {
      await browser.close();
      screen.close();
    };
  },
};

/** The columns of the table in docs/STEALTH.md. */
export const SUBJECTS = [
  FAST_BY_PLAYWRIGHT,
  PLAIN,
  PLAIN_BY_PLAYWRIGHT,
  STEALTH_BY_RAW_CALLS,
  STEALTH_BY_PUPPETEER,
  STEALTH_BY_PATCHRIGHT,
  STEALTH_BY_PLAYWRIGHT,
];
