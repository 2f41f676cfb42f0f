import { existsSync } from "node:fs";
import { appendFile, mkdtemp, readFile, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@svc/host-kit/log.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { MachineSpec } from "../../../vm-host/driver.ts";
import { openGoldenFolder } from "../../../vm-host/golden/folders.ts";
import { dropReplaced } from "../../../vm-host/golden/replaced.ts";
import { GoldenMachines } from "../../../vm-host/golden/golden-machines.ts";
import { FakeDriver } from "../rig/fake-driver.ts";

const files = { disk: "", vmlinuz: "", busybox: "", bootModules: "" };
const image = { name: "base", image: "i1", recipe: "r", kernel: "k", sizeGb: 4, ...files };
const spec: MachineSpec = { image, initrd: { hash: "l1", file: "" }, cpu: 2, memMb: 512 };
const life = { word: new Uint8Array(32).fill(7), generation: 1 };

let folder = "";
let driver: FakeDriver;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "goldenMachines-"));
  driver = new FakeDriver();
});
afterEach(() => rm(folder, { recursive: true }));

function goldenMachines(budgetBytes = 1e9): GoldenMachines {
  const log = createLog("test", "silent");
  return new GoldenMachines({ driver, folder, budgetBytes, log, settle: async () => life });
}

async function built(one = goldenMachines(), wanted = spec) {
  const golden = await one.build(wanted);
  if (!golden) throw new Error("no golden");
  return golden;
}

test("what was built is found, by this host and by the next, with how its next life begins", async () => {
  const { key } = await built();
  const found = await goldenMachines().find(spec);
  expect(found).toMatchObject({ key, life: { generation: 1 } });
  expect(Buffer.from(found?.life.word ?? []).equals(Buffer.from(life.word))).toBe(true);
});

test("builds of one size at once are one", async () => {
  const one = goldenMachines();
  const [left, right] = await Promise.all([one.build(spec), one.build(spec)]);
  expect([driver.boots, left]).toEqual([1, right]);
});

test("two hosts of one folder build once", async () => {
  await Promise.all([built(goldenMachines()), built(goldenMachines())]);
  expect(driver.boots).toBe(1);
});

test.each([
  ["image", { ...spec, image: { ...image, image: "i2" } }],
  ["agent", { ...spec, initrd: { hash: "l2", file: "" } }],
  ["memory", { ...spec, memMb: 1024 }],
  ["number of processors", { ...spec, cpu: 1 }],
])("another %s is another golden", async (_name, other) => {
  await built();
  expect(await goldenMachines().find(other)).toBeNull();
});

test.each(["state", "disk.qcow2", "mem"])(
  "a changed %s is refused and thrown away",
  async (file) => {
    const golden = await built();
    await appendFile(join(golden.folder, file), "x");
    expect(await goldenMachines().find(spec)).toBeNull();
    expect(existsSync(golden.folder)).toBe(false);
  },
);

test("memory of the same size that was written is refused", async () => {
  const golden = await built();
  await writeFile(join(golden.folder, "mem"), Buffer.alloc(driver.memoryBytes, 2));
  expect(await goldenMachines().find(spec)).toBeNull();
});

test.each(["state", "disk.qcow2", "mem"])("a missing %s is refused", async (file) => {
  const golden = await built();
  await rm(join(golden.folder, file));
  expect(await goldenMachines().find(spec)).toBeNull();
});

test("a record of another image under this name is refused", async () => {
  const golden = await built();
  const note = join(golden.folder, "template.json");
  await writeFile(note, (await readFile(note, "utf8")).replace('"i1"', '"i9"'));
  expect(await goldenMachines().find(spec)).toBeNull();
});

test("a record that is no record is refused", async () => {
  const golden = await built();
  await writeFile(join(golden.folder, "template.json"), "{");
  expect(await goldenMachines().find(spec)).toBeNull();
});

test("a build that fails leaves nothing, and the next one works", async () => {
  const one = goldenMachines();
  driver.fault = new Error("no boot");
  expect(await one.build(spec)).toBeNull();
  expect((await readdir(folder)).filter((name) => !name.endsWith(".lock"))).toEqual([]);
  driver.fault = null;
  expect(await one.build(spec)).not.toBeNull();
});

test("what a build of a dead process left is removed, that of a living one is not", async () => {
  const dead = join(folder, "aa.4194399.tmp");
  const alive = join(folder, "bb.1.tmp");
  for (const path of [dead, alive]) await writeFile(path, "");
  await openGoldenFolder(folder);
  expect([existsSync(dead), existsSync(alive)]).toEqual([false, true]);
});

test("over the budget the one that was not used for the longest time goes", async () => {
  driver.memoryBytes = 1024 * 1024;
  const one = goldenMachines(2.5 * 1024 * 1024);
  const first = await built(one);
  const second = await built(one, { ...spec, cpu: 1 });
  // Long ago, the first one first: a file's time may be coarser than what lies between.
  for (const [{ folder: place }, ago] of [
    [first, 20],
    [second, 10],
  ] as const) {
    const then = Date.now() / 1000 - ago;
    await utimes(join(place, "template.json"), then, then);
  }
  await one.find(spec);
  const third = await built(one, { ...spec, cpu: 3 });
  const kept = [first, second, third].map((golden) => existsSync(golden.folder));
  expect(kept).toEqual([true, false, true]);
});

test("one that somebody needs stays over the budget, and goes once nobody does", async () => {
  driver.memoryBytes = 1024 * 1024;
  const one = goldenMachines(1.5 * 1024 * 1024);
  const first = await built(one);
  const user = join(folder, "user");
  await writeFile(user, "");
  await one.holds.hold(first.key, "m-1", user);
  const second = await built(one, { ...spec, cpu: 1 });
  expect([existsSync(first.folder), existsSync(second.folder)]).toEqual([true, true]);
  await rm(user);
  await built(one, { ...spec, cpu: 3 });
  expect([existsSync(first.folder), existsSync(second.folder)]).toEqual([false, false]);
});

test("a golden is found by its key, and another one made for the same key is not it", async () => {
  const first = await built();
  expect((await goldenMachines().get(first.key, spec))?.digest).toBe(first.digest);
  await rm(first.folder, { recursive: true });
  const again = await built();
  expect([again.key, again.digest === first.digest]).toEqual([first.key, false]);
});

test("of a replaced image or agent it goes after a day without use, unless somebody needs it", async () => {
  const now = Date.now() + 25 * 60 * 60_000;
  const log = createLog("test", "silent");
  const drop = (at: number, own: MachineSpec) => dropReplaced(folder, [own], at, log);
  const newer = { ...spec, image: { ...image, image: "i2" } };
  const golden = await built();
  const isThere = (): boolean => existsSync(golden.folder);
  await drop(now, spec);
  await drop(Date.now(), newer);
  expect(isThere()).toBe(true);
  const { holds } = goldenMachines();
  await holds.hold(golden.key, "machine", folder);
  await drop(now, newer);
  expect(isThere()).toBe(true);
  await holds.drop(golden.key, "machine");
  await drop(now, newer);
  expect(isThere()).toBe(false);
});
