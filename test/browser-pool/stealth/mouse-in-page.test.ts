import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser, missingStealth } from "../../support/process/needs.ts";
import { RawCdp, byCdp, byWire, firstPage } from "../clients.ts";
import { Rig } from "../rig.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));

interface Seen {
  type: string;
  x: number;
  y: number;
  at: number;
  isTrusted: boolean;
}

const PAGE = `<title>mouse</title>
  <button style="position: absolute; left: 700px; top: 500px">here</button>
  <b draggable="true" style="position: absolute; left: 100px; top: 100px">thing</b>
  <i style="position: absolute; left: 400px; top: 300px; width: 90px; height: 90px">place</i>
  <script>
    const seen = [];
    for (const type of ["mousemove", "mousedown", "mouseup", "click", "dragstart", "drop", "wheel"])
      addEventListener(type, (event) => seen.push({
        type, x: event.clientX, y: event.clientY, at: event.timeStamp, isTrusted: event.isTrusted,
      }), true);
    document.querySelector("i").ondragover = (event) => event.preventDefault();
  </script>`;

describe.skipIf(isMissing)("Playwright's mouse in a stealth session", () => {
  let rig: Rig;
  let page: Page;

  beforeAll(async () => {
    rig = await Rig.start({ kind: "stealth" });
    await rig.place("mouse");
    page = firstPage(await byWire(rig, "mouse"));
  });

  afterAll(() => rig.stop());

  beforeEach(() => page.goto(`data:text/html,${encodeURIComponent(PAGE)}`));

  const seen = async (): Promise<Seen[]> => page.evaluate("seen");
  const typesOf = (events: Seen[]): string[] => events.map(({ type }) => type);

  test("clicks as a hand does: a path of trusted moves, then a press that lasts", async () => {
    await page.click("button");
    const events = await seen();
    expect(typesOf(events).slice(-4)).toEqual(["mousemove", "mousedown", "mouseup", "click"]);
    expect(events.filter(({ type }) => type === "mousemove").length).toBeGreaterThan(5);
    expect(events.every(({ isTrusted }) => isTrusted)).toBe(true);
    const [down, up] = events.slice(-3);
    expect((up?.at ?? 0) - (down?.at ?? 0)).toBeGreaterThan(40);
  });

  test("hovers, double clicks and scrolls as its client wants", async () => {
    await page.hover("button");
    await page.dblclick("button");
    await page.mouse.wheel(0, 100);
    await expect.poll(async () => typesOf(await seen())).toContain("wheel");
    const types = typesOf(await seen()).filter((type) => type !== "mousemove");
    const click = ["mousedown", "mouseup", "click"];
    expect(types).toEqual([...click, ...click, "wheel"]);
  });

  test("drags as its client wants", async () => {
    await page.dragAndDrop("b", "i");
    await expect.poll(async () => typesOf(await seen())).toContain("drop");
    const types = typesOf(await seen()).filter((type) => type !== "mousemove");
    expect(types).toEqual(["mousedown", "dragstart", "drop"]);
  });

  test("is left alone by raw calls and by Playwright on /cdp", async () => {
    const raw = await RawCdp.open(rig, "mouse");
    const session = await raw.attach();
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
      const event = { type, x: 300, y: 300, button: "left", clickCount: 1 };
      await raw.call("Input.dispatchMouseEvent", event, session);
    }
    const click = ["mousemove", "mousedown", "mouseup", "click"];
    expect(typesOf(await seen())).toEqual(click);
    const driver = await byCdp(rig, "mouse");
    await firstPage(driver).mouse.click(600, 200);
    expect(typesOf(await seen())).toEqual([...click, ...click]);
    await driver.close();
    raw.socket.close();
  });
});
