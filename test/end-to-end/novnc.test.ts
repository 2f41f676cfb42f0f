import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DesktopCreated } from "@svc/contract/vm/desktop.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { build } from "esbuild";
import { type Browser, type Page, chromium } from "playwright-core";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { type ControlClient, openControlClient } from "../support/process/control-client.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import { missingDesktop } from "../vm-host/rig/needs.ts";

const LONG = 900_000;
const PATIENCE = { timeout: 300_000, interval: 500 };
const DRAWN = "until wmctrl -m && xdotool search --onlyvisible --class tint2; do sleep 0.2; done";
/** A terminal that keeps what is typed into it, once keys go to it. */
const TYPING = `setsid lxterminal -t typing -e 'sh -c "cat > /tmp/typed"' >/dev/null 2>&1 &
until xdotool getactivewindow getwindowname 2>/dev/null | grep -q typing; do sleep 0.2; done`;
const POINTER = "xdotool getmouselocation | cut -d' ' -f1,2";
const TEXT = "ñß 漢字 🙂";
/** Pictures on their way may lose a little of their colours; the pointer is drawn by the viewer, the clock goes on. */
const NEAR = 40;
const MOST_OTHER = 0.02;

/** What noVNC shows, and what happened to it. */
interface Shown {
  document: { querySelector: (selector: string) => unknown };
  RFB: new (
    target: unknown,
    url: string,
  ) => EventTarget & {
    qualityLevel: number;
    toDataURL: () => string;
    clipboardPasteFrom: (text: string) => void;
  };
  rfb: InstanceType<Shown["RFB"]>;
  pasted: string[];
}

const missing = (await missingDesktop()) ?? (await missingBrowser());

describe.skipIf(missing)("noVNC shows a real desktop", { timeout: LONG }, () => {
  let machines: RealMachines;
  let desktop: DesktopCreated;
  let control: ControlClient;
  let browser: Browser;
  let viewer: Page;
  let watcher: Page;

  const site = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      "<!doctype html><body style='margin:0'><div id=screen style='width:1280px;height:720px'></div>",
    );
  });

  beforeAll(async () => {
    machines = await RealMachines.start({}, undefined, { SVC_WARM_VM: "0" });
    const create = async (): Promise<DesktopCreated> => {
      const response = await machines.call("/desktops", "POST", {});
      return DesktopCreated.parse(await response.json());
    };
    desktop = await vi.waitFor(create, PATIENCE);
    await sh(DRAWN);
    control = await openControlClient(desktop.controlUrl);
    const fit = await judge(process.env.SVC_CHROMIUM || null);
    if ("hint" in fit) throw new Error(fit.hint);
    browser = await chromium.launch({
      executablePath: fit.programs.chromium,
      args: ["--no-sandbox"],
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    viewer = await show(desktop.streamUrl);
    watcher = await show(`${desktop.streamUrl}?view=1`);
  }, LONG);
  afterAll(async () => {
    await browser?.close();
    site.close();
    control?.socket.terminate();
    await machines?.close();
  });

  async function sh(line: string): Promise<string> {
    const body = { cmd: "sh", args: ["-c", line], timeoutMs: 240_000 };
    const response = await machines.call(`/sandboxes/${desktop.sessionId}/exec`, "POST", body);
    const { stdout } = ExecResult.parse(await response.json());
    return stdout.trim();
  }

  /** A page in which noVNC is connected. */
  async function show(url: string): Promise<Page> {
    const { outputFiles } = await build({
      stdin: {
        contents: 'import RFB from "@novnc/novnc"; globalThis.RFB = RFB;',
        resolveDir: import.meta.dirname,
      },
      bundle: true,
      format: "esm",
      write: false,
    });
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    await page.addScriptTag({ type: "module", content: outputFiles[0]?.text ?? "" });
    await page.waitForFunction(() => "RFB" in globalThis);
    await page.evaluate(async (streamUrl) => {
      const shown = globalThis as unknown as Shown;
      shown.rfb = new shown.RFB(shown.document.querySelector("#screen"), streamUrl);
      shown.rfb.qualityLevel = 9;
      shown.pasted = [];
      shown.rfb.addEventListener("clipboard", (event) => {
        shown.pasted.push((event as CustomEvent<{ text: string }>).detail.text);
      });
      await new Promise((resolve) => shown.rfb.addEventListener("connect", resolve));
    }, url);
    return page;
  }

  async function pixelsOf(bytes: Buffer): Promise<Buffer> {
    const { data, info } = await sharp(bytes)
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).toEqual([1280, 720]);
    return data;
  }

  async function canvasOf(page: Page): Promise<Buffer> {
    const url = await page.evaluate(() => (globalThis as unknown as Shown).rfb.toDataURL());
    return pixelsOf(Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
  }

  async function screenshot(): Promise<Buffer> {
    const parts: Buffer[] = [];
    const { result } = control.client.call(
      "computer.screenshot",
      {},
      { onBytes: (_channel, bytes) => void parts.push(Buffer.from(bytes)) },
    );
    await result;
    return pixelsOf(Buffer.concat(parts));
  }

  /** The share of pixels of which a colour is clearly another one. */
  function difference(one: Buffer, other: Buffer): number {
    let others = 0;
    for (let at = 0; at < one.length; at += 3) {
      const isOther = [0, 1, 2].some(
        (colour) => Math.abs((one[at + colour] ?? 0) - (other[at + colour] ?? 0)) > NEAR,
      );
      if (isOther) others += 1;
    }
    return others / (one.length / 3);
  }

  test("the picture in its canvas is that of computer.screenshot", async () => {
    const empty = await screenshot();
    await sh(TYPING);
    const differs = async (page: Page) => difference(await canvasOf(page), await screenshot());
    await expect.poll(() => differs(viewer), PATIENCE).toBeLessThan(MOST_OTHER);
    await expect.poll(() => differs(watcher), PATIENCE).toBeLessThan(MOST_OTHER);
    // The terminal is on it: another picture than before would be told from this one.
    expect(difference(await canvasOf(viewer), empty)).toBeGreaterThan(5 * MOST_OTHER);
  });

  test("its pointer and its keys arrive, and those of ?view=1 do not", async () => {
    await viewer.mouse.move(1000, 200);
    await expect.poll(() => sh(POINTER), PATIENCE).toBe("x:1000 y:200");
    await watcher.mouse.click(100, 100);
    await watcher.keyboard.type("no");
    await watcher.keyboard.press("Enter");
    // Its connection has said all that, and is still there.
    await viewer.bringToFront();
    // A click would give the keys to what is under the pointer.
    await viewer.locator("canvas").first().focus();
    await viewer.keyboard.type("Hello desktop");
    await viewer.keyboard.press("Enter");
    await expect.poll(() => sh("cat /tmp/typed"), PATIENCE).toBe("Hello desktop");
    expect(await sh(POINTER)).toBe("x:1000 y:200");
  });

  test("its clipboard is that of the desktop, both ways", async () => {
    await viewer.evaluate(
      (text) => (globalThis as unknown as Shown).rfb.clipboardPasteFrom(text),
      TEXT,
    );
    const { client } = control;
    const text = async (): Promise<string> => (await client.ask("computer.clipboardGet", {})).text;
    await expect.poll(text, PATIENCE).toBe(TEXT);
    await client.ask("computer.clipboardSet", { text: `back: ${TEXT}` });
    const pasted = () => viewer.evaluate(() => (globalThis as unknown as Shown).pasted.at(-1));
    await expect.poll(pasted, PATIENCE).toBe(`back: ${TEXT}`);
  });
});
