import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { createLog } from "@svc/host-kit/log.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Machine, MachineSpec } from "../../../vm-host/driver.ts";
import { Maker } from "../../../vm-host/machines/maker.ts";
import { GoldenMachines } from "../../../vm-host/golden/golden-machines.ts";
import { FakeDriver } from "../rig/fake-driver.ts";

const files = { disk: "", vmlinuz: "", busybox: "", bootModules: "" };
const image = { name: "base", image: "i1", recipe: "r", kernel: "k", sizeGb: 4, ...files };
const spec: MachineSpec = { image, initrd: { hash: "l1", file: "" }, cpu: 2, memMb: 512 };
const other: MachineSpec = { ...spec, cpu: 3 };
const life = { word: new Uint8Array(32).fill(7), generation: 1 };
/** How often the folder is read and nothing of a build is found, until none is believed to have begun. */
const LOOKS = 50;

/** Machines with a port whose agent says nothing: they are booting for as long as they are there. */
class Booting extends FakeDriver {
  /** What happened, in its order. */
  readonly order: string[] = [];

  override async boot(wanted: MachineSpec, memoryFile?: string): Promise<Machine> {
    const what = memoryFile === undefined ? "boot" : "build";
    this.order.push(`${what} ${wanted.cpu}`);
    const machine = await super.boot(wanted, memoryFile);
    return {
      ...machine,
      openStream: () => duplexPair()[0] as Socket,
      destroy: async () => {
        if (what === "boot") this.order.push(`end ${wanted.cpu}`);
        await machine.destroy();
      },
    };
  }
}

let folder = "";
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "maker-"))));
afterEach(() => rm(folder, { recursive: true }));

function open(onGolden: () => unknown): {
  driver: Booting;
  maker: Maker;
  goldenMachines: GoldenMachines;
} {
  const driver = new Booting();
  const log = createLog("test", "silent");
  const options = { driver, folder, budgetBytes: 1e9, log, settle: async () => life };
  const goldenMachines = new GoldenMachines(options);
  return {
    driver,
    goldenMachines,
    maker: new Maker(driver, goldenMachines, log, () => void onGolden()),
  };
}

test("the golden of a size is built once nothing boots any more, whose boot that is", async () => {
  const { promise: built, resolve } = Promise.withResolvers<void>();
  let count = 0;
  const { driver, maker, goldenMachines } = open(() => (count += 1) === 2 && resolve());
  const first = await maker.make(spec);
  const second = await maker.make(other);
  expect([first.how, second.how]).toEqual(["boot", "boot"]);
  await first.machine.destroy();
  for (let look = 0; look < LOOKS; look += 1) expect(await goldenMachines.find(spec)).toBeNull();
  expect(driver.order).toEqual(["boot 2", "boot 3", "end 2"]);
  await second.machine.destroy();
  await built;
  const ended = ["boot 2", "boot 3", "end 2", "end 3"];
  expect(driver.order.slice(0, 4)).toEqual(ended);
  // Each look for what is there already takes its own time.
  expect(driver.order.filter((what) => what.startsWith("build")).toSorted()).toEqual([
    "build 2",
    "build 3",
  ]);
  expect(await goldenMachines.find(spec)).not.toBeNull();
});

test("a build that cannot even begin stops no other", async () => {
  const { driver, goldenMachines } = open(() => {});
  const lock = goldenMachines.lock.bind(goldenMachines);
  goldenMachines.lock = () => Promise.reject(new Error("no room"));
  expect(await goldenMachines.build(spec)).toBeNull();
  goldenMachines.lock = lock;
  expect(await goldenMachines.build(spec)).not.toBeNull();
  expect(driver.order).toEqual(["build 2"]);
});
