import { readdirSync } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createLog } from "@svc/host-kit/log.ts";
import { ObjectStore } from "@svc/host-kit/object-store.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VolumeBusy } from "../../../vm-host/volumes/transfer.ts";
import { VolumeFolders } from "../../../vm-host/volumes/folders.ts";
import { CHUNK_BYTES } from "../../../vm-host/volumes/reading.ts";
import { LocalVolumes } from "../../../vm-host/volumes/local-volumes.ts";
import { Gateway } from "../rig/gateway.ts";
import { missingMachine } from "../rig/needs.ts";
import { chunksOf, given, manifestOf, newVolume } from "../rig/volume-store.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";

const LONG = 240_000;
/** Where the test writes into an image, as a machine would. */
const AT = 1024 ** 3;

async function write(image: string, text: string, at = AT): Promise<void> {
  const file = await open(image, "r+");
  await file.write(text.padEnd(4), at);
  await file.close();
}

async function read(image: string): Promise<string> {
  const file = await open(image);
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, AT);
  await file.close();
  return buffer.toString();
}

/** The volumes of a host, over the store of a gateway. */
async function stockOf(hostId: string, gatewayUrl: string, folder: string) {
  const folders = await VolumeFolders.open(join(folder, hostId), folder);
  const storeWith = (signal: AbortSignal) =>
    new ObjectStore({ gatewayUrl, hostToken: HOST_TOKEN, signal });
  const parts = {
    folders,
    hostId,
    storeWith,
    onStored: () => {},
    log: createLog("test", "silent"),
  };
  return new LocalVolumes(parts, []);
}

describe.skipIf(await missingMachine())("two hosts at one volume", { timeout: LONG }, () => {
  const gateway = new Gateway();
  const { objects } = gateway;
  let folder = "";
  let one: LocalVolumes;
  let two: LocalVolumes;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "vmrace-"));
    const url = await gateway.start();
    one = await stockOf("vm-one", url, folder);
    two = await stockOf("vm-two", url, folder);
  });
  afterAll(async () => {
    for (const stock of [one, two]) stock.close();
    await gateway.stop();
    await rm(folder, { recursive: true });
  });

  /** Begins an act, and answers once the manifest that it stores is on its way. */
  async function halfWay(act: () => Promise<unknown>): Promise<{ acting: Promise<unknown> }> {
    objects.holds = (key) => key.endsWith("/manifest.json");
    const acting = act();
    acting.catch(() => null);
    await objects.until(() => objects.held.length > 0);
    objects.holds = () => false;
    return { acting };
  }

  test("that store it in the same instant: what the heir began with is not overwritten", async () => {
    const volume = newVolume();
    await one.claim("first", given(volume));
    await write(one.imageOf(volume), "one");
    await one.sync(volume);
    const stored = chunksOf(objects, volume);
    await write(one.imageOf(volume), "late");
    const { acting } = await halfWay(() => one.sync(volume));
    await two.claim("second", given(volume, "/data", { takeOver: true }));
    objects.letGo();
    await expect(acting).rejects.toMatchObject({ isChanged: true });
    const heir = await manifestOf(objects, volume);
    expect(heir).toMatchObject({ hostId: "vm-two", isOpen: true });
    // Another try knows whose it is now, and takes nothing away.
    await one.sync(volume);
    expect(await manifestOf(objects, volume)).toEqual(heir);
    expect(chunksOf(objects, volume)).toEqual(expect.arrayContaining(stored));
    expect(await read(two.imageOf(volume))).toBe("one ");
    await two.sync(volume);
    expect(await manifestOf(objects, volume)).toMatchObject({ hostId: "vm-two" });
  });

  test("that is taken over while its host stores it once more: the next try gets that, too", async () => {
    const volume = newVolume();
    await one.claim("first", given(volume));
    await write(one.imageOf(volume), "one");
    await one.sync(volume);
    const takeOver = () => two.claim("second", given(volume, "/data", { takeOver: true }));
    const { acting } = await halfWay(takeOver);
    await write(one.imageOf(volume), "late");
    await one.sync(volume);
    objects.letGo();
    await expect(acting).rejects.toThrow(VolumeBusy);
    await takeOver();
    expect(await read(two.imageOf(volume))).toBe("late");
  });

  test("that is new: one of the two has it", async () => {
    const volume = newVolume();
    const { acting } = await halfWay(() => one.claim("first", given(volume)));
    await two.claim("second", given(volume));
    objects.letGo();
    await expect(acting).rejects.toThrow(VolumeBusy);
    expect(await manifestOf(objects, volume)).toMatchObject({ hostId: "vm-two" });
    expect(one.get(volume)).toBeUndefined();
  });

  test("whose store fails half way: what it has got is not sent again, and goes when nobody needs it", async () => {
    const volume = newVolume();
    await one.claim("first", given(volume));
    const image = one.imageOf(volume);
    for (let at = 0; at < 12; at += 1) await write(image, `no${at}`, AT * (at / 8 + 2));
    const puts: string[] = [];
    objects.holds = (key) => {
      if (key.includes("/chunk-")) puts.push(key);
      objects.isAway = puts.length === 5;
      return false;
    };
    await expect(one.sync(volume)).rejects.toThrow(/503/);
    objects.isAway = false;
    expect(puts.length).toBeGreaterThan(4);
    const got = chunksOf(objects, volume);
    // Chunks go in their order: the first has got there.
    await write(image, "anew", 0);
    await one.sync(volume);
    expect(puts).toEqual([...new Set(puts)]);
    expect(puts.length).toBeGreaterThan(12);
    const { chunks } = await manifestOf(objects, volume);
    const named = [...new Set(Object.values(chunks))].toSorted();
    expect(chunksOf(objects, volume)).toEqual(named);
    expect(named).not.toEqual(expect.arrayContaining(got));
    objects.holds = () => false;
  });

  test("that is larger than the room beside it goes in parts", async () => {
    const volume = newVolume();
    await one.claim("first", given(volume));
    const image = one.imageOf(volume);
    const count = 150;
    for (let at = 0; at < count; at += 1) await write(image, `${at}`, 2 * AT + at * CHUNK_BYTES);
    const lying: number[] = [];
    objects.holds = (key) => {
      if (key.includes("/chunk-")) lying.push(readdirSync(join(dirname(image), "packed")).length);
      return false;
    };
    await one.sync(volume);
    objects.holds = () => false;
    const { chunks } = await manifestOf(objects, volume);
    expect(Object.keys(chunks).length).toBeGreaterThanOrEqual(count);
    expect(chunksOf(objects, volume)).toEqual([...new Set(Object.values(chunks))].toSorted());
    expect(Math.max(...lying)).toBe(64);
  });
});
