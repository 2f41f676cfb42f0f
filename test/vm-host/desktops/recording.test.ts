import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { differing, screenshotOf } from "../../support/process/screenshots.ts";
import { pause, resume, snapshot } from "../rig/acts.ts";
import { missingDesktop } from "../rig/needs.ts";
import { fileOf, lastPicture, lengthOf, timesIn } from "../rig/recorded.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const SIZE = { width: 1024, height: 768 };
const DESKTOP: Partial<PlaceVm> = {
  kind: "desktop",
  source: { type: "image", name: "desktop" },
  memMb: 2048,
  resolution: "1024x768",
};
/** What VP8 makes of a colour lies nearer than this. */
const NEAR = 64;
const DRAWN = "until wmctrl -m && xdotool search --onlyvisible --class tint2; do sleep 0.2; done";
/** A terminal that prints a line a second. */
const PRINTING =
  "setsid lxterminal -t film -e \"sh -c 'n=0; while sleep 1; do n=\\$((n+1)); echo line \\$n; done'\" >/dev/null 2>&1 & until wmctrl -l | grep -q film; do sleep 0.2; done";

describe.skipIf(await missingDesktop())(
  "a desktop that is recorded",
  { timeout: MACHINE_MS },
  () => {
    let rig: Rig;
    let folder: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "recording-"));
      rig = await Rig.start();
      await rig.able();
      await rig.gateway.beat(({ capabilities }) => capabilities.includes("recording"));
      await rig.place("film", { ...DESKTOP, record: true });
      await rig.sh("film", DRAWN);
      await rig.sh("film", PRINTING);
    }, MACHINE_MS);
    afterAll(async () => {
      await rig?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const partsOf = (id: string): string[] =>
      rig.gateway.objects.keys("recording/").filter((key) => key.includes(`/${id}/`));
    const moreParts = (id: string, than: number, count = 1): Promise<void> =>
      rig.gateway.objects.until(() => partsOf(id).length >= than + count);

    /** The recording as it can be fetched now. */
    async function fetched(id: string) {
      const parts = partsOf(id).map((key) => [key, rig.gateway.objects.stored.get(key)] as const);
      const { bytes, ...recording } = fileOf(new Map(parts as [string, Buffer][]), SIZE);
      const file = join(folder, `${id}.webm`);
      await writeFile(file, bytes);
      const times = await timesIn(file);
      // Its pictures follow each other, and none lies after its end.
      expect(times).toEqual(times.toSorted((one, other) => one - other));
      expect((times.at(-1) ?? 0) * 1000).toBeLessThanOrEqual(recording.durationMs);
      expect(await lengthOf(file)).toBeCloseTo(recording.durationMs / 1000, 1);
      return { ...recording, file, times };
    }

    test("is in the object store part after part while it runs, and ends on what the screen shows", async () => {
      await moreParts("film", 0, 2);
      const { durationMs, isCut } = await fetched("film");
      expect(isCut).toBe(false);
      expect(durationMs).toBeGreaterThan(10_000);
      // A line a second is a picture a second, and of a computer that is busy one in a while.
      const pictures = async (): Promise<number> => (await fetched("film")).times.length;
      while ((await pictures()) <= 4) await moreParts("film", partsOf("film").length);
      // Still from here on, but for a title: without a change there would be no part to wait for.
      await rig.sh("film", "pkill -STOP -f 'while sleep 1'");
      const before = partsOf("film").length;
      await rig.sh("film", "wmctrl -r film -T still");
      await moreParts("film", before);
      const { file } = await fetched("film");
      const png = join(folder, "last.png");
      await lastPicture(file, png);
      const { url, headers } = await rig.socket("film");
      const { png: shown } = await screenshotOf(url, headers);
      expect(await differing(await readFile(png), shown, NEAR)).toBeLessThan(0.05);
      await rig.sh("film", "pkill -CONT -f 'while sleep 1'");
    });

    test("goes on with another screen where the first has ended", async () => {
      await rig.sh("film", "pkill -KILL Xtigervnc; sleep 1; until wmctrl -m; do sleep 0.2; done");
      await rig.sh("film", DRAWN);
      await rig.sh("film", PRINTING);
      await moreParts("film", partsOf("film").length, 2);
      expect((await fetched("film")).isCut).toBe(false);
    });

    test("is one recording over a pause, without the time in between", async () => {
      const before = partsOf("film").length;
      await pause(rig, "film");
      await moreParts("film", before);
      const paused = await fetched("film");
      await resume(rig, "film");
      await moreParts("film", partsOf("film").length);
      const resumed = await fetched("film");
      expect(new Set(partsOf("film").map((key) => key.split("/").at(-1)?.slice(0, 15))).size).toBe(
        2,
      );
      expect(resumed.times.slice(0, paused.times.length)).toEqual(paused.times);
      expect(resumed.durationMs).toBeGreaterThan(paused.durationMs);
    });

    test("has a fork that is not recorded", async () => {
      await snapshot(rig, "film", "snap_film");
      const source = { type: "snapshot", id: "snap_film", recordPath: "" } as const;
      await rig.place("fork", { ...DESKTOP, source });
      await moreParts("film", partsOf("film").length, 2);
      expect(partsOf("fork")).toEqual([]);
      await rig.delete("fork");
      expect(partsOf("fork")).toEqual([]);
    });

    test("has its end once it is deleted", async () => {
      const before = partsOf("film").length;
      await rig.delete("film");
      await moreParts("film", before);
      const { durationMs, times } = await fetched("film");
      expect(durationMs - (times.at(-1) ?? 0) * 1000).toBeLessThan(12_000);
    });
  },
);
