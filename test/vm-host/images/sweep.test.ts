import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createLog } from "@svc/host-kit/log.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CacheSweep } from "../../../vm-host/images/sweep.ts";

const DAY_MS = 24 * 60 * 60_000;
const NOW = 2_000_000_000_000;
const nameOf = (digit: string): string => digit.repeat(16);

let cache = "";
beforeEach(async () => void (cache = await mkdtemp(join(tmpdir(), "sweep-"))));
afterEach(() => rm(cache, { recursive: true }));

async function put(path: string, text: string, ageMs: number): Promise<void> {
  const file = join(cache, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  const at = (NOW - ageMs) / 1000;
  await utimes(file, at, at);
}

async function image(digit: string, ageMs: number): Promise<void> {
  await put(`images/${nameOf(digit)}/root.raw`, "", ageMs);
  const at = (NOW - ageMs) / 1000;
  await utimes(join(cache, "images", nameOf(digit)), at, at);
}

function sweep(now = NOW): Promise<void> {
  const files = { disk: "", vmlinuz: "", busybox: "", bootModules: "" };
  const own = { name: "base", image: nameOf("a"), recipe: "r", kernel: "k", sizeGb: 4, ...files };
  const initrd = { hash: nameOf("b"), file: join(cache, "layers", `${nameOf("b")}.img`) };
  return new CacheSweep(cache, createLog("test", "silent")).sweep([{ image: own, initrd }], now);
}

const has = (...paths: string[]): boolean[] => paths.map((path) => existsSync(join(cache, path)));

test("what nobody needs goes after a day; what a template, a record or an image of today names stays", async () => {
  for (const digit of ["1", "2", "3", "4"]) await image(digit, 2 * DAY_MS);
  await image("5", DAY_MS / 2);
  for (const digit of ["6", "7", "8"]) await put(`layers/${nameOf(digit)}.img`, "", 2 * DAY_MS);
  await put("layers/x.img.4194399.tmp", "", 2 * DAY_MS);
  const template = { key: "k", image: nameOf("1"), layer: nameOf("6") };
  await put("templates/k/template.json", JSON.stringify(template), 9 * DAY_MS);
  const record = { id: "r", image: { name: "base", image: nameOf("2") }, agent: nameOf("7") };
  await put("records/o/r/record.json", JSON.stringify(record), 9 * DAY_MS);
  await put("images/base.json", JSON.stringify({ image: nameOf("3") }), 9 * DAY_MS);
  await sweep();
  const images = ["1", "2", "3", "4", "5"].map((digit) => `images/${nameOf(digit)}`);
  expect(has(...images)).toEqual([true, true, true, false, true]);
  const layers = ["6", "7", "8"].map((digit) => `layers/${nameOf(digit)}.img`);
  expect(has(...layers, "layers/x.img.4194399.tmp")).toEqual([true, true, false, false]);
});

test("what a host runs on is kept, and seen by the next one to sweep", async () => {
  await image("a", 9 * DAY_MS);
  await put(`layers/${nameOf("b")}.img`, "", 9 * DAY_MS);
  await sweep();
  // Another host, of another image and agent, half a day later.
  const files = { disk: "", vmlinuz: "", busybox: "", bootModules: "" };
  const other = { name: "base", image: "o", recipe: "r", kernel: "k", sizeGb: 4, ...files };
  const bootable = { image: other, initrd: { hash: "p", file: join(cache, "layers", "p.img") } };
  const log = createLog("test", "silent");
  await new CacheSweep(cache, log).sweep([bootable], NOW + DAY_MS / 2);
  expect(has(`images/${nameOf("a")}`, `layers/${nameOf("b")}.img`)).toEqual([true, true]);
  await new CacheSweep(cache, log).sweep([bootable], NOW + 2 * DAY_MS);
  expect(has(`images/${nameOf("a")}`, `layers/${nameOf("b")}.img`)).toEqual([false, false]);
});

test("what builds have left that broke off goes after a day", async () => {
  const [old, fresh] = ["images/steps/rootfs-1.tmp", "images/steps/rootfs-2.tmp"];
  for (const [path, ageMs] of [
    [old, 2 * DAY_MS],
    [fresh, DAY_MS / 2],
  ] as const) {
    await put(`${path}/etc/hostname`, "", ageMs);
    const at = (NOW - ageMs) / 1000;
    await utimes(join(cache, path), at, at);
  }
  await sweep();
  expect(has(old, fresh)).toEqual([false, true]);
});

test("the rest of the folder is none of its business", async () => {
  await put("images/steps/kernel-1/vmlinuz", "", 9 * DAY_MS);
  await put("images/base.lock", "", 9 * DAY_MS);
  await sweep();
  expect(has("images/steps/kernel-1/vmlinuz", "images/base.lock")).toEqual([true, true]);
});
