import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { machinesOf } from "./acts.ts";
import { missingMachine } from "./needs.ts";
import { Rig } from "./rig.ts";

const MACHINE_MS = 400_000;
const PATIENCE = { timeout: 200_000, interval: 1000 };
/** Processor time to judge by, in microseconds: rounds of the scheduler are a thousandth of it. */
const ENOUGH = 20_000_000;
const BURNERS = 4;

describe.skipIf(await missingMachine())("the weight of a share", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.place("light", { isolation: "shared", cpu: 1, memMb: 256 });
    await rig.place("heavy", { isolation: "shared", cpu: 2, memMb: 256 });
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  /** More of them than the machine has processors; they end by themselves at last. */
  const burn = (id: string) =>
    rig.sh(
      id,
      `for n in $(seq ${BURNERS}); do setsid timeout 300 sh -c 'while :; do :; done' & done`,
    );

  /** Processor time that a share has had, and the time on its clock, in microseconds. */
  async function read(id: string): Promise<{ used: number; at: number }> {
    const line = "grep usage_usec /sys/fs/cgroup/cpu.stat; cut -d' ' -f1 /proc/uptime";
    const [used = "", at = ""] = (await rig.sh(id, line)).split("\n");
    return { used: Number(used.split(" ")[1]), at: Number(at) * 1_000_000 };
  }

  /** How many processors it has had since, on average. To ask takes a while: each has a time of its own. */
  async function rate(id: string, since: { used: number; at: number }): Promise<number> {
    const { used, at } = await read(id);
    return (used - since.used) / (at - since.at);
  }

  test("parts the processors two to one while both want them, and is no ceiling for one that is alone", async () => {
    expect(machinesOf(rig)).toBe(1);
    await burn("light");
    const alone = await read("light");
    await expect
      .poll(async () => (await read("light")).used - alone.used, PATIENCE)
      .toBeGreaterThan(ENOUGH);
    // More than the one processor that it asked for.
    expect(await rate("light", alone)).toBeGreaterThan(1.3);

    await burn("heavy");
    const [light, heavy] = [await read("light"), await read("heavy")];
    await expect
      .poll(async () => (await read("heavy")).used - heavy.used, PATIENCE)
      .toBeGreaterThan(ENOUGH);
    const ratio = (await rate("heavy", heavy)) / (await rate("light", light));
    expect(ratio).toBeGreaterThan(1.5);
    expect(ratio).toBeLessThan(2.7);
    // Neither is out of reach meanwhile.
    expect(await rig.sh("light", "echo here")).toBe("here");
  });
});
