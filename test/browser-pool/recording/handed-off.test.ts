// What a pool makes of the news of hand-offs: late ones, and of pages that do not hear it.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { constants, gunzipSync } from "node:zlib";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { missingBrowser } from "../../support/process/needs.ts";
import { startEchoSite } from "../../support/process/recorded.ts";
import { byCdp, firstPage } from "../clients.ts";
import { Rig } from "../rig.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
const FIELDS = "<input id=a><input id=b><input id=c>";

const site = await startEchoSite();
let rig: Rig;
let count = 0;
let id = "";

/** What the replays on the disk of the pool have by now. */
async function recorded(): Promise<string> {
  const folder = join(rig.stateDir, "pool", "recordings");
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.includes(id));
  const texts = names.map(async (name) => {
    const bytes = await readFile(join(folder, name));
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  });
  return (await Promise.all(texts)).join("");
}
const hasRecorded = (text: string): Promise<void> =>
  vi.waitFor(async () => expect(await recorded()).toContain(text), PATIENCE);

async function tell(seq: number, isOpen: boolean, of = id): Promise<number> {
  return (await rig.call("POST", `/slots/${of}/handoff`, of, { seq, isOpen })).status;
}

describe.skipIf(await missingBrowser())(
  "a recorded session on its pool",
  { timeout: 240_000 },
  () => {
    beforeAll(async () => {
      rig = await Rig.start({ env: { SVC_EGRESS_ALLOW: site.addresses } });
      await rig.warm();
    });
    afterAll(async () => {
      await rig.stop();
      site.close();
    });
    beforeEach(() => (id = `handed${(count += 1)}`));

    async function placed(recording = true): Promise<Page> {
      await rig.place(id, recording ? { recording: {} } : {});
      const page = firstPage(await byCdp(rig, id));
      await page.goto(site.page(FIELDS));
      return page;
    }

    test("goes by the newest news of its hand-offs, in whatever order they come", async () => {
      const page = await placed();
      expect(await tell(3, false)).toBe(204);
      // The beginning of a hand-off that is over.
      expect(await tell(2, true)).toBe(204);
      await page.fill("#a", "typed-first");
      await hasRecorded("typed-first");
      expect(await tell(4, true)).toBe(204);
      expect(await tell(3, false)).toBe(204);
      expect(await tell(4, true)).toBe(204);
      await page.fill("#b", "secret-typed");
      expect(await tell(5, false)).toBe(204);
      await page.fill("#c", "typed-last");
      await hasRecorded("typed-last");
      expect(await recorded()).not.toContain("secret-typed");
      await rig.delete(id);
    });

    test("says when it is not there, or when the news is malformed, and takes it without a recording", async () => {
      expect(await tell(2, true)).toBe(404);
      await placed(false);
      expect(await tell(2, true)).toBe(204);
      expect(await tell(-1, true)).toBe(400);
      expect((await rig.call("POST", `/slots/${id}/handoff`, id, { isOpen: true })).status).toBe(
        400,
      );
      await rig.delete(id);
    });

    test("hides what is typed in frames of other origins and in popups, also in documents that come later", async () => {
      const page = await placed();
      const framed = site.page(FIELDS, "localhost");
      await page.goto(site.page(`<iframe src="${framed}"></iframe>`));
      const field = page.frameLocator("iframe").locator("#a");
      await field.fill("typed-before");
      await hasRecorded("typed-before");
      expect(await tell(2, true)).toBe(204);
      await field.fill("secret-framed");
      await page.evaluate(`document.querySelector("iframe").src += "again"`);
      await page.frameLocator("iframe").getByText("again").waitFor();
      await field.fill("secret-reloaded");
      const opening = page.waitForEvent("popup");
      await page.evaluate(`void open("${site.page(FIELDS, "localhost")}")`);
      const popup = await opening;
      await popup.fill("#a", "secret-popup");
      expect(await tell(3, false)).toBe(204);
      for (const [each, text] of [
        [page.frameLocator("iframe").locator("#b"), "last-framed"],
        [popup.locator("#b"), "last-popup"],
      ] as const) {
        await each.fill(text);
        await hasRecorded(text);
      }
      expect(await recorded()).not.toContain("secret-");
      await rig.delete(id);
    });

    test("has nothing of a page that is too busy to hear of it, until it hears", async () => {
      const page = await placed();
      const other = await page.context().newPage();
      await other.goto(site.page(FIELDS));
      await page.fill("#a", "typed-before");
      await hasRecorded("typed-before");
      await page.evaluate(`globalThis.isFree = false; new Promise((resolve) => setTimeout(resolve)).then(() => {
      for (const until = Date.now() + ${3 * LIMITS.hidingMs}; Date.now() < until;);
      isFree = true;
    }); 0`);
      expect(await tell(2, true)).toBe(204);
      await page.fill("#b", "secret-typed");
      await other.fill("#b", "secret-other");
      await page.waitForFunction("isFree");
      expect(await tell(3, false)).toBe(204);
      await page.fill("#c", "typed-last");
      await hasRecorded("typed-last");
      const text = await recorded();
      for (const secret of ["secret-typed", "secret-other"]) expect(text).not.toContain(secret);
      await rig.delete(id);
    });
  },
);
