import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COUNT, bodyOf, pause, post, resume, runs } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 500_000;
const SHARE = { isolation: "shared", memMb: 256 } as const;
const counted = async (rig: Rig, id: string): Promise<number> =>
  Number(await rig.sh(id, "cat /run/n"));

describe.skipIf(await missingMachine())("shares at rest", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  let stateDir = "";

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "vmrig-"));
    rig = await Rig.start({ stateDir });
    await rig.able();
    await Promise.all([
      rig.place("left", { ...SHARE, envs: { COLOUR: "blue" } }),
      rig.place("right", SHARE),
    ]);
    for (const id of ["left", "right"]) await rig.sh(id, `echo ${id} > /root/f; ${COUNT}`);
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  const isCounting = async (id: string): Promise<void> => {
    const from = await counted(rig, id);
    await expect.poll(() => counted(rig, id), { timeout: 60_000 }).toBeGreaterThan(from);
  };

  test("one of two pauses: it stands still, the other goes on in the same machine", async () => {
    await isCounting("left");
    expect((await pause(rig, "left")).sizeBytes).toBeGreaterThan(0);
    await rig.gateway.report("left", ({ state }) => state === "paused");
    expect(await bodyOf(await post(rig, "left", "exec", { cmd: "true" }), 409)).toMatchObject({
      code: "Paused",
    });
    await runs(rig, 1);
    await isCounting("right");
    expect((await resume(rig, "left")).isolation).toBe("shared");
    expect(await rig.sh("left", "cat /root/f; echo $COLOUR")).toBe("left\nblue");
    await isCounting("left");
    await isCounting("right");
  });

  test("one that stands still can be ended while its neighbours run", async () => {
    await rig.place("brief", SHARE);
    await rig.sh("brief", COUNT);
    await pause(rig, "brief");
    expect((await rig.delete("brief")).status).toBe(204);
    await rig.gateway.beat(({ vms }) => !vms.some(({ id }) => id === "brief"));
    expect((await post(rig, "brief", "resume")).status).toBe(404);
    await isCounting("left");
    await isCounting("right");
  });

  test("when the last one pauses the machine ends; each goes on when it is resumed, and not before", async () => {
    await pause(rig, "left");
    const asleep = await pause(rig, "right");
    expect(asleep.state).toBe("paused");
    await runs(rig, 0);
    await resume(rig, "right");
    await runs(rig, 1);
    await isCounting("right");
    await rig.gateway.report("left", ({ state }) => state === "paused");
    await resume(rig, "left");
    expect(await rig.sh("left", "cat /root/f; echo $COLOUR")).toBe("left\nblue");
    await isCounting("left");
  });

  test("a host that stops pauses the machine whole, and the next one goes on with each share", async () => {
    await pause(rig, "left");
    expect(await rig.end("SIGTERM")).toBe(0);
    await rig.gateway.stop();
    rig = await Rig.start({ stateDir });
    await rig.able();
    for (const id of ["left", "right"])
      await rig.gateway.report(id, ({ state }) => state === "paused");
    await resume(rig, "left");
    await isCounting("left");
    await resume(rig, "right");
    await isCounting("right");
    await runs(rig, 1);
  });

  test("a host that is killed keeps those that were paused or have a checkpoint, and loses those that ran", async () => {
    await rig.place("brief", SHARE);
    await rig.sh("right", "echo before > /root/g");
    const saved = await post(rig, "right", "checkpoint");
    expect(saved.status).toBe(200);
    await isCounting("right");
    await rig.sh("right", "echo after > /root/g; sync");
    await pause(rig, "left");
    await rig.sh("right", "echo lost > /root/g; sync");
    await rig.end("SIGKILL");
    await rig.gateway.stop();
    rig = await Rig.start({ stateDir });
    await rig.able();
    const { vms } = await rig.gateway.beat((beat) => beat.vms.length > 0);
    expect(vms.map(({ id, state }) => `${id} ${state}`).toSorted()).toEqual([
      "left paused",
      "right paused",
    ]);
    await resume(rig, "left");
    await isCounting("left");
    // Each saving of the machine renews the checkpoints of those in it.
    await resume(rig, "right");
    expect(await rig.sh("right", "cat /root/g")).toBe("after");
    await isCounting("right");
    await rig.delete("right");
  });

  test("a share cannot be saved alone; a paused one can be ended, and nothing is left", async () => {
    const refused = await post(rig, "left", "snapshot", { snapshotId: "snap_share" });
    expect(refused.status).toBe(409);
    await pause(rig, "left");
    expect((await rig.delete("left")).status).toBe(204);
    await rig.gateway.beat((beat) => beat.vms.length === 0 && beat.free.slots === 64);
    expect((await post(rig, "left", "resume")).status).toBe(404);
  });
});
