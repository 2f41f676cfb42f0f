import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runs } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const PATIENCE_MS = 200_000;
/** Processor time to judge by, in microseconds: hundreds of rounds of the scheduler. */
const ENOUGH = 6_000_000;

describe.skipIf(await missingMachine())("the weight of a share", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await Promise.all([
      rig.place("light", { isolation: "shared", cpu: 1, memMb: 256 }),
      rig.place("heavy", { isolation: "shared", cpu: 2, memMb: 256 }),
    ]);
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  /** Two that want all they can get, on these processors; they end by themselves at last. */
  const burn = (id: string, processors: string) =>
    rig.sh(
      id,
      `for n in 1 2; do setsid taskset -c ${processors} timeout 300 sh -c 'while :; do :; done' >/dev/null 2>&1 & done`,
    );

  /** Processor time that a share has had, and the time on its clock, in microseconds. */
  async function read(id: string): Promise<{ used: number; at: number }> {
    const line = "grep usage_usec /sys/fs/cgroup/cpu.stat; cut -d' ' -f1 /proc/uptime";
    const [used = "", at = ""] = (await rig.sh(id, line)).split("\n");
    return { used: Number(used.split(" ")[1]), at: Number(at) * 1_000_000 };
  }

  /**
   * Waits inside until a share has had enough. Nothing is asked of it meanwhile: what its agent does for that has a weight of
   * its own, on another processor, and the kernel parts a share's weight among the processors that it is busy on.
   */
  async function spend(id: string): Promise<void> {
    const used = "$(sed -n 's/usage_usec //p' /sys/fs/cgroup/cpu.stat)";
    const loop = `while [ $((${used} - from)) -lt ${ENOUGH} ]; do sleep 1; done`;
    await rig.sh(id, `from=${used}; ${loop}`, PATIENCE_MS);
  }

  /** How many processors it has had since, on average. To ask takes a while: each has a time of its own. */
  async function rate(id: string, since: { used: number; at: number }): Promise<number> {
    const { used, at } = await read(id);
    return (used - since.used) / (at - since.at);
  }

  test("parts the processors two to one while both want them, and is no ceiling for one that is alone", async () => {
    await runs(rig, 1);
    await burn("light", "0-1");
    const alone = await read("light");
    await spend("light");
    // More than the one processor that it asked for.
    expect(await rate("light", alone)).toBeGreaterThan(1.3);

    // On one processor: how the two are spread over several is not what is asked.
    await rig.sh("light", "pkill timeout");
    for (const id of ["light", "heavy"]) await burn(id, "0");
    const [light, heavy] = [await read("light"), await read("heavy")];
    await spend("heavy");
    const ratio = (await rate("heavy", heavy)) / (await rate("light", light));
    expect(ratio).toBeGreaterThan(1.5);
    expect(ratio).toBeLessThan(2.7);
    // Neither is out of reach meanwhile.
    expect(await rig.sh("light", "echo here")).toBe("here");
  });
});
