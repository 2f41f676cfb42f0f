import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { byWireOf, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";

/** A button below an overlay that a second button takes away. */
const COVERED = `<button onclick="this.textContent = 'done'">do</button>
  <div id=overlay style="position:fixed;inset:0;background:#fff"><button id=away onclick="overlay.remove()">away</button></div>`;

describe.skipIf(await missingBrowser())("a locator handler", () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
  });
  afterAll(() => rig.stop());

  /** Has the page run a handler that takes the overlay away and then takes its time, and counts its runs. */
  async function handled(page: Page): Promise<{ runs: number; ended: number }> {
    const counts = { runs: 0, ended: 0 };
    await page.setContent(COVERED);
    await page.addLocatorHandler(page.locator("#overlay"), async () => {
      counts.runs++;
      await page.locator("#away").click();
      // The overlay is gone: only the end of the handler is to be waited for.
      for (let turn = 0; turn < 100; turn++) await page.title();
      counts.ended++;
    });
    return counts;
  }

  const click = (page: Page) => page.getByRole("button", { name: "do" }).click();
  const ONCE = { runs: 1, ended: 1 };

  test.each(WIRE_VERSIONS)("runs once and is awaited, in %s", async (version) => {
    await rig.place(`one-${version}`);
    const browser = await byWireOf(version, rig, `one-${version}`);
    const page = firstPage(browser);
    const counts = await handled(page);
    await click(page);
    expect(counts).toEqual(ONCE);
    expect(await page.getByText("done").count()).toBe(1);
    await browser.close();
  });

  test.each(WIRE_VERSIONS)("runs once though its overlay stays, in %s", async (version) => {
    const id = `stays-${version}`;
    await rig.place(id);
    const browser = await byWireOf(version, rig, id);
    const page = firstPage(browser);
    await page.setContent(COVERED.replace("inset:0", "top:300px"));
    let runs = 0;
    let ended = 0;
    const overlay = page.locator("#overlay");
    const look = async (): Promise<void> => {
      runs++;
      for (let turn = 0; turn < 100; turn++) await page.title();
      ended++;
    };
    await page.addLocatorHandler(overlay, look, { noWaitAfter: true, times: 1 });
    await click(page);
    expect({ runs, ended }).toEqual(ONCE);
    await browser.close();
  });

  test.each(WIRE_VERSIONS)(
    "runs at the client that has registered it, whoever acts, in %s",
    async (version) => {
      const id = `two-${version}`;
      await rig.place(id);
      const open = (): Promise<Browser> => byWireOf(version, rig, id);
      const [owner, other] = await Promise.all([open(), open()]);
      const counts = await handled(firstPage(owner));
      await click(firstPage(other));
      expect(counts).toEqual(ONCE);
      await firstPage(owner).setContent(COVERED);
      await click(firstPage(owner));
      expect(counts).toEqual({ runs: 2, ended: 2 });
      await Promise.all([owner.close(), other.close()]);
    },
  );
});
