import { createHash } from "node:crypto";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Extent } from "../../../vm-host/driver.ts";
import { LiveImage, type Writer } from "../../../vm-host/volumes/live-image.ts";
import { Packer, numbersOf, readStill } from "../../../vm-host/volumes/reading.ts";
import { BlankMachine, MIB } from "../rig/blank-machine.ts";
import { missingMachine } from "../rig/needs.ts";

const LONG = 300_000;
const on = new AbortController().signal;

/** The hash of a MiB of one byte. */
const mib = (byte: number): string =>
  createHash("sha256").update(Buffer.alloc(MIB, byte)).digest("hex");
const mibs = (chunks: Record<number, number>): Record<string, string> =>
  Object.fromEntries(Object.entries(chunks).map(([number, byte]) => [number, mib(byte)]));

describe.skipIf(await missingMachine())("a volume that is written", { timeout: LONG }, () => {
  let machine: BlankMachine;
  let folder: string;
  /** What is done at each step of the next scans, once. */
  let steps: Partial<Record<keyof Writer, () => Promise<unknown>>>;
  let image: LiveImage;
  let log: string[];

  const step = async (name: keyof Writer): Promise<void> => {
    log.push(name);
    const act = steps[name];
    delete steps[name];
    await act?.();
  };
  const written = async (): Promise<Extent[] | null> => {
    await step("written");
    return machine.written();
  };
  /** Hashes that the store has. */
  const known = new Set<string>();
  async function scan(signal = on) {
    const found = await image.scan(new Packer(folder, known), signal);
    return { chunks: found.chunks, fresh: found.fresh.toSorted(), at: found.changedAt };
  }
  const sorted = (bytes: number[]): string[] => bytes.map(mib).toSorted();

  beforeEach(async () => {
    machine = await BlankMachine.start();
    folder = await mkdtemp(join(tmpdir(), "packed-"));
    [steps, log] = [{}, []];
    known.clear();
    const writer = { flush: () => step("flush"), freeze: () => step("freeze") };
    image = new LiveImage(machine.image, { ...writer, thaw: () => step("thaw"), written });
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
    await machine.stop();
  });

  /** What it is now, by reading all of it. */
  const truth = async () =>
    (await readStill(machine.image, new Packer(folder, new Set()), on)).chunks;
  /** Each time another byte, here and there, and often where it was before. */
  let writes = 0;
  const scribble = async (): Promise<void> => {
    for (let count = 0; count < 3; count += 1) {
      writes += 1;
      await machine.write((writes * 7) % 60, writes % 256);
    }
  };
  const fill = async (count = 40): Promise<void> => {
    for (let at = 0; at < count; at += 1) await machine.write(at, 1 + at);
  };
  /** What a scan has found is in the store. */
  const store = async (): Promise<void> => {
    for (const hash of Object.values((await scan()).chunks)) known.add(hash);
  };

  test("is stored as it is: what is written and what is freed", async () => {
    await machine.write(3, 7);
    await machine.write(50, 8);
    expect(await scan()).toMatchObject({ chunks: mibs({ 3: 7, 50: 8 }), fresh: sorted([7, 8]) });
    for (const byte of [7, 8]) known.add(mib(byte));
    await machine.write(3, 0);
    await machine.discard(50);
    await machine.write(9, 7);
    await machine.write(10, 9);
    expect(await scan()).toMatchObject({ chunks: mibs({ 9: 7, 10: 9 }), fresh: [mib(9)] });
  });

  test("is read again only where it was written, and where the store has not got it", async () => {
    await fill();
    const before = mibs(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [at, 1 + at])));
    await scan();
    for (let at = 0; at < 40; at += 1) if (at !== 30) known.add(mib(1 + at));
    for (const at of [20, 30]) await machine.forge(at, 99);
    await machine.write(5, 200);
    const { chunks, fresh } = await scan();
    expect(chunks).toEqual({ ...before, ...mibs({ 5: 200, 30: 99 }) });
    expect(fresh).toEqual(sorted([99, 200]));
  });

  test("is what it was while its writers waited, whatever was written while it was read", async () => {
    await fill();
    const before = mibs(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [at, 1 + at])));
    // The first answer comes before all is read, the second after.
    steps.written = async () => {
      steps.written = async () => {
        await machine.write(2, 100);
        await machine.write(45, 101);
      };
    };
    steps.freeze = () => machine.write(3, 102);
    steps.thaw = () => machine.write(4, 103);
    const then = { ...before, ...mibs({ 2: 100, 45: 101, 3: 102 }) };
    const found = await scan();
    expect(found.chunks).toEqual(then);
    // What was packed and written over is not stored.
    expect(found.fresh).not.toContain(mib(3));
    for (const hash of Object.values(found.chunks)) known.add(hash);
    expect((await scan()).chunks).toEqual({ ...then, ...mibs({ 4: 103 }) });
  });

  test("is not stored when it was written while its writers should wait; the next time all is there", async () => {
    await fill();
    await store();
    // The second answer from then on is that after the copies were made.
    steps.freeze = async () => {
      steps.written = async () => {
        steps.written = scribble;
      };
    };
    await expect(scan()).rejects.toThrow(/stood still/);
    expect(log.at(-1)).toBe("thaw");
    expect((await scan()).chunks).toEqual(await truth());
  });

  test("is whole after a try that broke off, at whatever step", async () => {
    await fill();
    let tries = 0;
    for (let isOver = false; !isOver; tries += 1) {
      await scribble();
      const breaking = new AbortController();
      let left = tries;
      const broken = (name: keyof Writer) => async (): Promise<void> => {
        steps[name] = broken(name);
        left -= 1;
        // One by a fault, the next by somebody who needs it.
        if (left === -1 && tries % 2 === 0) throw new Error("broken");
        if (left === -1) breaking.abort(new Error("broken"));
        if (name !== "written") await scribble();
      };
      for (const name of ["flush", "written", "freeze", "thaw"] as const)
        steps[name] = broken(name);
      isOver = await scan(breaking.signal).then(
        () => left >= 0,
        () => false,
      );
      steps = {};
      expect((await scan()).chunks).toEqual(await truth());
    }
    // Flush, written, freeze, twice written, thaw: each by one of the two.
    expect(tries).toBeGreaterThan(5);
    expect(await machine.bitmaps()).toBe(1);
  });

  test("is whole after QEMU has failed, at whatever command", async () => {
    await fill(10);
    await store();
    let tries = 0;
    for (let isOver = false; !isOver; tries += 1) {
      await scribble();
      let left = tries;
      machine.command = async (run) => {
        left -= 1;
        if (left !== -1) return run();
        // Whether it was done or not.
        if (tries % 2 === 0) await run();
        throw new Error("broken");
      };
      isOver = await scan().then(
        () => left >= 0,
        () => false,
      );
      machine.command = (run) => run();
      await scribble();
      expect((await scan()).chunks).toEqual(await truth());
    }
    expect(tries).toBeGreaterThan(10);
  });

  test("has every write in an answer, whenever it comes while QEMU is asked", async () => {
    expect(await machine.written()).toBe(null);
    let count = 0;
    machine.command = async (run) => {
      await machine.write((count += 1), 1);
      const answer = await run();
      await machine.write((count += 1), 1);
      return answer;
    };
    const during = (await machine.written()) ?? [];
    machine.command = (run) => run();
    const after = (await machine.written()) ?? [];
    const numbers = new Set(numbersOf([...during, ...after], Infinity));
    const all = Array.from({ length: count }, (_, at) => at + 1);
    expect(count).toBeGreaterThan(8);
    expect([...numbers].toSorted((left, right) => left - right)).toEqual(all);
    expect(await machine.written()).toEqual([]);
  });

  test("is read anew when its machine is another one", async () => {
    await fill();
    await store();
    await machine.kill();
    await machine.forge(20, 99);
    machine = await BlankMachine.start(machine.folder);
    // Also when the first look at it fails.
    const away = `${machine.image}.away`;
    steps.written = () => rename(machine.image, away);
    await expect(scan()).rejects.toThrow(/qemu-img/);
    await rename(away, machine.image);
    expect((await scan()).chunks).toEqual(await truth());
  });

  test("is idle while nothing is written but what a thaw writes", async () => {
    await fill();
    const { at } = await scan();
    const isIdle = () => image.isIdleSince(at);
    expect(await isIdle()).toBe(true);
    await machine.write(0, 77, "1k", "1k");
    expect([await isIdle(), await isIdle()]).toEqual([true, true]);
    await machine.write(0, 77, "2k", "1k");
    expect(await isIdle()).toBe(false);
    const { at: then } = await scan();
    expect([await isIdle(), await image.isIdleSince(then)]).toEqual([false, true]);
    await machine.write(7, 77);
    expect(await image.isIdleSince(then)).toBe(false);
    // Once it was read for a try that failed, there is more to store than was written since.
    steps.freeze = () => Promise.reject(new Error("broken"));
    known.clear();
    await expect(scan()).rejects.toThrow("broken");
    expect(await image.isIdleSince(then)).toBe(false);
    expect((await scan()).chunks).toEqual(await truth());
  });
});
