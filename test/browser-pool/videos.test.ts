import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser, missingPagePackages } from "../support/process/needs.ts";
import { byWireOf } from "./clients.ts";
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
    expect(lastFrame(file)).toEqual({
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

/** How big a video is, and the mean colour of its last frame. */
function lastFrame(video: string): { size: number[]; colour: number[] } {
  const stream = ["-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height"];
  const size = execFileSync("ffprobe", [...stream, "-of", "csv=p=0", video], { encoding: "utf8" });
  const raw = ["-vf", "scale=1:1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"];
  const pixels = execFileSync("ffmpeg", ["-v", "error", "-i", video, ...raw]);
  return { size: size.trim().split(",").map(Number), colour: [...pixels.subarray(-3)] };
}
