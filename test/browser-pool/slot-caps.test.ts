import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { byWire, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

/** Stores pieces of 16 MiB until one is refused. Returns how many went in, and the name of the refusal. */
async function fill(): Promise<[number, string]> {
  const piece = new Uint8Array(16 * 1024 * 1024);
  const cache = await caches.open("filler");
  for (let stored = 0; stored < 64; stored += 1) {
    // Bytes that no file system can leave out.
    for (let at = 0; at < piece.length; at += 65_536)
      crypto.getRandomValues(piece.subarray(at, at + 65_536));
    try {
      await cache.put(`/${stored}`, new Response(piece));
    } catch (error) {
      return [stored, error instanceof DOMException ? error.name : String(error)];
    }
  }
  return [64, "never"];
}

describe.skipIf(await missingBrowser())("what a slot may take", () => {
  let rig: Rig;
  let site: Site;

  beforeAll(async () => {
    site = await new Site().start();
    const env = { SVC_WARM_FAST: "2", SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}` };
    rig = await Rig.start({ env });
    await rig.place("s");
    await rig.place("t");
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
  });

  test("a page that fills its disk is refused, and lives on as does its neighbour", async () => {
    const [browser, neighbour] = [await byWire(rig, "s"), await byWire(rig, "t")];
    const page = firstPage(browser);
    await page.goto(site.url);
    const [stored, refusal] = await page.evaluate(fill);
    expect(refusal).toBe("QuotaExceededError");
    expect(stored).toBeGreaterThan(2);
    expect(stored).toBeLessThanOrEqual(32);
    await page.reload();
    expect(await page.title()).toBe("home");
    const other = firstPage(neighbour);
    await other.goto(site.url);
    expect(await other.evaluate(() => caches.open("x").then((cache) => cache.add("/")))).toBe(
      undefined,
    );
    await browser.close();
    await neighbour.close();
  });
});
