import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdDecompressSync } from "node:zlib";
import type { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pause, resume } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Objects } from "../rig/objects.ts";
import { Rig } from "../rig/rig.ts";
import { given, manifestOf, newVolume } from "../rig/volume-store.ts";

const LONG = 1_200_000;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const run = promisify(execFile);

/** More than a GiB that is no zeros, between two files that count the same. */
const FILL = [
  "printf 00000000 > /data/early; sync",
  "head -c 33554432 /dev/urandom > /dev/shm/part",
  "for n in $(seq 36); do dd if=/dev/shm/part bs=1M oflag=direct status=none; done > /data/big",
  "rm /dev/shm/part; printf 00000000 > /data/late; sync",
].join("\n");
/** Counts in both, one after the other, each on the disk before the next is begun; with more written beside. */
const COUNT = [
  "put() { printf %08d $n | dd of=$1 conv=notrunc,fsync status=none; }",
  "n=0; while :; do n=$((n + 1))",
  "put /data/early; put /data/late; head -c 300000 /dev/urandom > /data/more$((n % 40))",
  "done",
].join("\n");

/** What the store has at one moment. */
interface State {
  manifest: VolumeManifest;
  stored: Map<string, Buffer>;
}

describe.skipIf(await missingMachine())("a large volume in use", { timeout: LONG }, () => {
  const objects = new Objects();
  let rig: Rig;
  let folder: string;
  /** What the image that the test has made is made of. */
  let built: VolumeManifest["chunks"] = {};

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "live-"));
    const env = { SVC_HOST_ID: "vm-live", SVC_VOLUME_SYNC_MS: "300" };
    rig = await Rig.start({ objects, env });
    await rig.able();
    await rig.template();
  }, LONG);
  afterAll(async () => {
    await rig?.stop();
    await rm(folder, { recursive: true });
  });

  /** The next state that is stored after now. */
  async function next(volume: string): Promise<State> {
    const { storedAt } = await manifestOf(objects, volume);
    let stored = new Map<string, Buffer>();
    const manifest = await manifestOf(objects, volume, (found) => {
      if (found.storedAt <= storedAt) return false;
      stored = new Map(objects.stored);
      return true;
    });
    return { manifest, stored };
  }

  /** Makes an image of it, looks whether that is a whole file system, and reads both counts. */
  async function countsOf(volume: string, { manifest, stored }: State): Promise<number[]> {
    const image = join(folder, "image.raw");
    const file = await open(image, constants.O_RDWR | constants.O_CREAT);
    await file.truncate(manifest.sizeBytes);
    const numbers = new Set([...Object.keys(manifest.chunks), ...Object.keys(built)]);
    for (const number of numbers) {
      const hash = manifest.chunks[number];
      if (hash === built[number]) continue;
      const packed = stored.get(`volume/${volume}/chunk-${hash}`);
      const bytes = hash === undefined ? Buffer.alloc(MIB) : zstdDecompressSync(packed ?? "");
      await file.write(bytes, 0, MIB, Number(number) * MIB);
    }
    built = manifest.chunks;
    await file.close();
    await run("e2fsck", ["-fn", image]);
    const read = (path: string) => run("debugfs", ["-R", `cat ${path}`, image]);
    const [early, late] = await Promise.all([read("/early"), read("/late")]);
    return [Number(early.stdout), Number(late.stdout)];
  }

  /** Both count the same, or one is just ahead. Answers how far they are. */
  async function agreed(volume: string): Promise<number> {
    const [early = 0, late = 0] = await countsOf(volume, await next(volume));
    expect(early).toBeGreaterThan(0);
    expect([late, late + 1]).toContain(early);
    return late;
  }

  /** Waits for two heartbeats in which the store is asked nothing. False when there are none. */
  async function isQuiet(): Promise<boolean> {
    const { beats } = rig.gateway;
    for (let tries = 0; tries < 30; tries += 1) {
      const [asked, before] = [objects.reads.length, beats.length];
      await rig.gateway.beat(() => beats.length > before + 1);
      if (objects.reads.length === asked) return true;
    }
    return false;
  }

  test("is left alone while nobody writes it", async () => {
    const volume = newVolume();
    await rig.place("idle", { volumes: [given(volume)] });
    await rig.sh("idle", "echo one > /data/f; sync");
    await manifestOf(objects, volume, ({ chunks }) => Object.keys(chunks).length > 0);
    expect(await isQuiet()).toBe(true);
    const more = next(volume);
    await rig.sh("idle", "echo two > /data/f; sync");
    await more;
    expect(await isQuiet()).toBe(true);
    expect(rig.stderr).not.toMatch(/not written out|not stored/);
    await rig.delete("idle");
  });

  test("is stored as it was at one moment, again and again, whatever comes between", async () => {
    const volume = newVolume();
    await rig.place("big", { volumes: [given(volume)] });
    await rig.sh("big", FILL, LONG);
    await rig.sh("big", `setsid sh -c '${COUNT}' >/dev/null 2>&1 & sync`);
    // A machine that goes on is another one, of which nothing is known: all is read while it counts.
    await pause(rig, "big");
    await resume(rig, "big");
    let last = await agreed(volume);
    const { chunks } = await manifestOf(objects, volume);
    expect(Object.keys(chunks).length * MIB).toBeGreaterThan(GIB);
    for (let round = 0; round < 2; round += 1) {
      const now = await agreed(volume);
      expect(now).toBeGreaterThan(last);
      last = now;
    }
    // The store is down for a while.
    const { refused } = objects;
    objects.isAway = true;
    await objects.until(() => objects.refused > refused + 2);
    objects.isAway = false;
    expect(await agreed(volume)).toBeGreaterThan(last);
    // Somebody needs it while it is on its way.
    objects.holds = (key) => key.startsWith(`volume/${volume}/chunk-`);
    await objects.until(() => objects.held.length > 0);
    await pause(rig, "big");
    objects.letGo();
    await resume(rig, "big");
    last = await agreed(volume);
    expect(await agreed(volume)).toBeGreaterThan(last);
    // Its host is lost: another one goes on with what is stored.
    await rig.end("SIGKILL");
    const heir = await Rig.start({ objects, env: { SVC_HOST_ID: "vm-heir" } });
    await heir.able();
    await heir.place("on", { volumes: [given(volume, "/data", { takeOver: true })] });
    const [early = 0, late = 0] = (await heir.sh("on", "cat /data/early; echo; cat /data/late"))
      .split("\n")
      .map(Number);
    expect(late).toBeGreaterThanOrEqual(last);
    expect([late, late + 1]).toContain(early);
    await heir.delete("on");
    await heir.stop();
  });
});
