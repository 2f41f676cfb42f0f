import { once } from "node:events";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { RawCdp, byCdp, byWire, byWireOf, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { browsersOf, below } from "./processes.ts";
import { RawWire } from "./raw-wire.ts";
import { Rig, openOf } from "./rig.ts";

/** A context of a stealth browser opens a window, which takes a while. */
const TIMES = { fast: 25, stealth: 5 };

describeKinds("contexts of a client that is gone", (kind) => {
  let rig: Rig;
  let count = 0;
  let id: string;

  beforeAll(async () => {
    rig = await Rig.start({ kind });
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    count += 1;
    id = `s${count}`;
    await rig.place(id);
    return async () => void (await rig.delete(id));
  });

  /** The contexts of the browser beside the default one, by Chromium's own word. */
  async function others(): Promise<unknown[]> {
    const raw = await RawCdp.open(rig, id);
    const { result } = await raw.call("Target.getBrowserContexts");
    raw.socket.close();
    const ids = result?.["browserContextIds"];
    if (!Array.isArray(ids)) throw new Error("no list of contexts");
    return ids;
  }

  const renderers = (): number =>
    browsersOf(rig.child.pid ?? 0).flatMap((pid) =>
      below(pid).filter(({ command }) => command.includes("--type=renderer")),
    ).length;

  async function titled(browser: Browser, title: string): Promise<void> {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`data:text/html,<title>${title}</title>`);
  }

  test.each(WIRE_VERSIONS)("of %s go with it, one after the other", async (version) => {
    await (await byWireOf(version, rig, id)).close();
    const before = renderers();
    for (let n = 0; n < TIMES[kind]; n += 1) {
      const browser = await byWireOf(version, rig, id);
      // Playwright says its goodbye a moment after its `close` has ended: the next client may be quicker.
      await expect.poll(() => browser.contexts().length).toBe(1);
      await titled(browser, `${n}`);
      await browser.close();
    }
    await expect.poll(others).toEqual([]);
    await expect.poll(renderers).toBeLessThanOrEqual(before + 1);
  });

  test("leave the default context and its pages, whoever opened them", async () => {
    const [first, stays] = [await byWire(rig, id), await byWireOf("1.64", rig, id)];
    await titled(stays, "another's");
    await firstPage(first).goto("data:text/html,<title>first</title>");
    const second = await first.contexts()[0]?.newPage();
    await second?.goto("data:text/html,<title>second</title>");
    await titled(first, "mine");
    await first.close();
    await expect.poll(others).toHaveLength(1);
    for (const open of [byWire, byCdp]) {
      const browser = await open(rig, id);
      const pages = browser.contexts()[0]?.pages() ?? [];
      const titles = await Promise.all(pages.map((page) => page.title()));
      // Over CDP a Playwright takes pages of contexts that it has not made for pages of the default one.
      const own = titles.filter((title) => title !== "another's");
      expect(own.toSorted()).toEqual(["first", "second"]);
      await browser.close();
    }
  });

  test("of a dropped one wait for the next, and go with that one", async () => {
    const wire = await RawWire.open(rig, id, "1.65");
    await wire.call(wire.guidOf("Browser") ?? "", "newContext", {});
    const closed = once(wire.socket, "close");
    wire.socket.terminate();
    await closed;
    await rig.gateway.report(id, (report) => openOf(report) === 0 && report.closes === 1);
    expect(await others()).toHaveLength(1);
    const next = await byWire(rig, id);
    expect(next.contexts()).toHaveLength(2);
    await next.close();
    await expect.poll(others).toEqual([]);
  });

  test("that are still being made when it goes are closed, too", async () => {
    for (let n = 0; n < TIMES[kind]; n += 1) {
      const wire = await RawWire.open(rig, id, "1.65");
      for (let made = 0; made < 4; made += 1)
        wire.send(wire.guidOf("Browser") ?? "", "newContext", {});
      wire.socket.close();
      await once(wire.socket, "close");
    }
    await expect.poll(others).toEqual([]);
  });

  test("made over CDP by Playwright go with it", async () => {
    for (let n = 0; n < 5; n += 1) {
      const browser = await byCdp(rig, id);
      await titled(browser, `${n}`);
      await browser.close();
    }
    await expect.poll(others).toEqual([]);
  });
});
