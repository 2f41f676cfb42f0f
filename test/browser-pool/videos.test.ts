import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser, missingPagePackages } from "../support/process/needs.ts";
import { byWireOf, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";

/** Draws something new in each of the next frames: enough of them for a browser that sends what it can. */
const DRAW_FRAMES = `(async () => {
  for (let frame = 0; frame < 60; frame++) {
    document.body.textContent = frame;
    await new Promise((drawn) => requestAnimationFrame(drawn));
  }
})()`;
const skipped = (await missingBrowser()) ?? missingPagePackages();

describe.skipIf(skipped)("recordVideo", () => {
  let rig: Rig;
  let folder = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "videos-"));
    rig = await Rig.start();
  });
  afterAll(async () => {
    await rig.stop();
    await rm(folder, { recursive: true });
  });

  test.each(WIRE_VERSIONS)("brings its file to the client, in %s", async (version) => {
    await rig.place(version);
    const browser = await byWireOf(version, rig, version);
    const context = await browser.newContext({
      recordVideo: { dir: folder, size: { width: 320, height: 240 } },
      viewport: { width: 320, height: 240 },
    });
    const page = await context.newPage();
    await page.setContent("<body style='background: rgb(255, 0, 0)'>");
    await page.evaluate(DRAW_FRAMES);
    const video = page.video();
    if (!video) throw new Error("the page has no video");
    await context.close();
    const file = join(folder, `${version}.webm`);
    await video.saveAs(file);
    expect(await lastFrame(firstPage(browser), await readFile(file))).toEqual({
      size: [320, 240],
      colour: [expect.toSatisfy(isStrong), expect.toSatisfy(isWeak), expect.toSatisfy(isWeak)],
    });
    await video.delete();
    await expect(video.saveAs(file)).rejects.toThrow(/has been closed/);
    await browser.close();
  });
});

const isStrong = (part: number): boolean => part > 200;
const isWeak = (part: number): boolean => part < 50;

/** How big a video is, and the colour in the middle of its last frame. */
function lastFrame(page: Page, video: Buffer): Promise<unknown> {
  return page.evaluate(`(async () => {
    const video = document.createElement("video");
    video.src = "data:video/webm;base64,${video.toString("base64")}";
    const told = (event) => new Promise((resolve, reject) => {
      video.addEventListener(event, resolve, { once: true });
      video.addEventListener("error", () => reject(new Error(video.error.message)), { once: true });
    });
    await told("loadeddata");
    const seeked = told("seeked");
    video.currentTime = 1e6;
    await seeked;
    const ink = document.createElement("canvas").getContext("2d");
    ink.drawImage(video, 0, 0);
    const [...rgba] = ink.getImageData(100, 100, 1, 1).data;
    return { size: [video.videoWidth, video.videoHeight], colour: rgba.slice(0, 3) };
  })()`);
}
