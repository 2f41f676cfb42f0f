import { type Browser, type Page, chromium } from "playwright-core";
import { expect, test, vi } from "vitest";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { Observer } from "../support/process/observer.ts";
import type { WatchingRig } from "../support/process/watching-rig.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
/** Of the page that stands still. */
const BLUE = [0, 102, 204];
/** What JPEG makes of a colour. */
const TOLERANCE = 8;

/** The browser of a person who watches. */
async function launchViewer(): Promise<Browser> {
  const fit = await judge(process.env.SVC_CHROMIUM || null);
  if ("hint" in fit) throw new Error(fit.hint);
  return chromium.launch({ executablePath: fit.programs.chromium, args: ["--no-sandbox"] });
}

/** Opens the page of docs/OBSERVING.md as a person would who has copied it. */
async function openExample(page: Page, rig: WatchingRig, url: string): Promise<void> {
  // Another fragment alone would load nothing.
  await page.goto("about:blank");
  await page.goto(`${rig.site.url}example#${url}`);
}

const keep = async (page: Page, name: string): Promise<void> => {
  const path = process.env.SVC_KEEP_SCREENSHOT;
  if (path) await page.screenshot({ path: `${path}-${name}.png` });
};

/** The tests of the page in docs/OBSERVING.md. */
export function exampleCases(rig: WatchingRig): void {
  test("the page of the documentation shows a session, and one that a person has taken over", async () => {
    const viewer = await launchViewer();
    const page = await viewer.newPage({ viewport: { width: 1400, height: 800 } });
    try {
      const still = await rig.driven("still");
      await openExample(page, rig, (await rig.observeToken(still.id)).url);
      await vi.waitFor(async () => {
        const pixel = await page.evaluate<number[]>(
          "[...document.querySelector('#screen').getContext('2d').getImageData(640, 500, 1, 1).data]",
        );
        for (const [at, value] of BLUE.entries())
          expect(Math.abs((pixel[at] ?? 0) - value)).toBeLessThan(TOLERANCE);
      }, PATIENCE);
      await keep(page, "observer");
      const form = await rig.driven("form");
      const { url } = await rig.liveToken(form.id);
      const person = await Observer.open(url);
      await person.until(({ last }) => last !== undefined);
      person.send({ type: "mouse", action: "down", x: 120, y: 120, button: "left" });
      person.send({ type: "mouse", action: "up", x: 120, y: 120, button: "left" });
      person.send({ type: "text", text: "typed by a person" });
      await vi.waitFor(
        async () => expect(await form.page.inputValue("#field")).toBe("typed by a person"),
        PATIENCE,
      );
      person.close();
      await vi.waitFor(async () => {
        await openExample(page, rig, url);
        // Shown, or refused while the one who has left is still taken for there.
        await page.waitForFunction(
          "document.querySelector('#screen').width === 1280 || document.body.innerText.trim()",
          undefined,
          PATIENCE,
        );
        expect(await page.evaluate("document.querySelector('#screen').width")).toBe(1280);
      }, PATIENCE);
      await keep(page, "take-over");
      await rig.release(still.id);
      await rig.release(form.id);
      await page.waitForFunction("document.body.innerText.includes('4404')", undefined, PATIENCE);
    } finally {
      await viewer.close();
    }
  });
}
