import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byWire, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

/** Stores pieces of 16 MiB until one is refused. Tells how many went in, and the name of the refusal. */
const FILL = `(async () => {
  const piece = new Uint8Array(16 * 1024 * 1024);
  const cache = await caches.open("filler");
  for (let stored = 0; stored < 64; stored += 1) {
    // Bytes that no file system can leave out.
    for (let at = 0; at < piece.length; at += 65536)
      crypto.getRandomValues(piece.subarray(at, at + 65536));
    try {
      await cache.put("/" + stored, new Response(piece));
    } catch (error) {
      return { stored, refusal: error.name };
    }
  }
  return { stored: 64, refusal: "none" };
})()`;
const Filled = z.object({ stored: z.number(), refusal: z.string() });
const STORE = `caches.open("x").then((cache) => cache.add("/")).then(() => "stored")`;

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
    const { stored, refusal } = Filled.parse(await page.evaluate(FILL));
    expect(refusal).toBe("QuotaExceededError");
    expect(stored).toBeGreaterThan(2);
    expect(stored).toBeLessThanOrEqual(32);
    await page.reload();
    expect(await page.title()).toBe("home");
    const other = firstPage(neighbour);
    await other.goto(site.url);
    expect(await other.evaluate(STORE)).toBe("stored");
    await browser.close();
    await neighbour.close();
  });

  test("a session whose files outgrow their cap is ended, and its client learns why", async () => {
    const scratch = await mkdtemp(join(tmpdir(), "slot-caps-"));
    await chmod(scratch, 0o711);
    const own = await Rig.start({ env: { TMPDIR: scratch } });
    try {
      await own.place("s");
      const raw = await RawCdp.open(own, "s");
      const closed = once(raw.socket, "close");
      const [run = ""] = (await readdir(scratch)).filter((name) => name.startsWith("svc-pool-"));
      const files = join(scratch, run, "wire/files");
      for (const slot of await readdir(files))
        execFileSync("fallocate", ["--length", "2049MiB", join(files, slot, "huge")]);
      const [code, reason] = await closed;
      expect([code, String(reason)]).toEqual([
        4404,
        expect.stringContaining("files beyond 2048 MiB"),
      ]);
      await own.gateway.beat(({ slots }) => slots.some(({ ended }) => ended === "browser_crashed"));
    } finally {
      await own.stop();
      await rm(scratch, { recursive: true, force: true });
    }
  });
});
