import { VmCheckpointed } from "@svc/contract/host-protocol/vm-states.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { killIfThere } from "../../support/process/process-tree.ts";
import { bodyOf, drafted, pause, pidsOf, post, resume, runs } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";
import { given, newVolume } from "../rig/volume-store.ts";

const MACHINE_MS = 500_000;
const SHARE = { isolation: "shared", memMb: 256 } as const;

describe.skipIf(await missingMachine())("a machine that dies", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.template();
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  const checkpoint = async (id: string): Promise<VmCheckpointed> =>
    VmCheckpointed.parse(await bodyOf(await post(rig, id, "checkpoint"), 200));

  /** Ends every machine there is, as nobody asked for. What heartbeats say of that begins with this one. */
  function killAll(): number {
    for (const pid of pidsOf(rig)) killIfThere(pid);
    return rig.gateway.beats.length;
  }

  const hasEnded = (id: string): boolean =>
    rig.gateway.beats.some(({ vms }) => vms.some((vm) => vm.id === id && vm.ended !== undefined));

  const isPaused = (id: string, since: number) =>
    rig.gateway.report(id, ({ state }) => state === "paused", since);

  const write = (id: string, word: string) =>
    rig.sh(id, `echo ${word} > /dev/shm/f; echo ${word} > /root/f; sync`);

  test("and has a checkpoint is paused as of that, with its volume as it is, again and again", async () => {
    const volume = newVolume();
    await rig.place("saved", { envs: { COLOUR: "blue" }, volumes: [given(volume)] });
    await rig.sh("saved", "echo before > /data/f; setsid sh -c 'exec 9>>/data/f; sleep 999' &");
    await write("saved", "kept");
    const { recordId } = await checkpoint("saved");
    await write("saved", "lost");
    await rig.sh("saved", "echo after >> /data/f; sync");
    for (let round = 0; round < 2; round += 1) {
      const since = killAll();
      expect(await isPaused("saved", since)).toMatchObject({ recordId });
      expect(hasEnded("saved")).toBe(false);
      expect((await rig.call("GET", "/vms/saved/metrics", "saved")).status).toBe(404);
      // It rests like any other: nobody else gets what it has.
      expect((await rig.put("other", { volumes: [given(volume)] })).status).toBe(503);
      await resume(rig, "saved");
      expect(await rig.sh("saved", "cat /dev/shm/f /root/f; echo $COLOUR")).toBe(
        "kept\nkept\nblue",
      );
      expect(await rig.sh("saved", "cat /data/f")).toBe("before\nafter");
      await write("saved", "lost");
    }
    // It goes to the object store like any other record.
    await rig.gateway.report("saved", (vm) => vm.state === "running" && vm.durable === true);
    await rig.delete("saved");
    await rig.place("other", { volumes: [given(volume)] });
    expect(await rig.sh("other", "cat /data/f")).toBe("before\nafter");
    await rig.delete("other");
  });

  test("and has none is over, also when it was paused before", async () => {
    await rig.place("mortal");
    await pause(rig, "mortal");
    await resume(rig, "mortal");
    // What it was is forgotten a moment after the answer.
    await bodyOf(await post(rig, "mortal", "park"), 200);
    killAll();
    await rig.gateway.report("mortal", ({ ended }) => ended === "machine_died");
    expect((await post(rig, "mortal", "resume")).status).toBe(404);
  });

  test("while it is being saved is what was saved before, or now: never nothing", async () => {
    for (const act of ["checkpoint", "pause"]) {
      await rig.place("busy");
      await write("busy", "first");
      await checkpoint("busy");
      await write("busy", "second");
      const isUnderWay = drafted(rig.stateDir);
      const acting = post(rig, "busy", act);
      await isUnderWay;
      const since = killAll();
      const isSaved = (await acting).status === 200;
      await isPaused("busy", since);
      await resume(rig, "busy");
      expect(await rig.sh("busy", "cat /dev/shm/f")).toBe(isSaved ? "second" : "first");
      await rig.delete("busy");
    }
    expect(hasEnded("busy")).toBe(false);
  });

  test("and is deleted at that moment leaves nothing", async () => {
    await rig.place("unwanted");
    await checkpoint("unwanted");
    killAll();
    expect((await rig.delete("unwanted")).status).toBe(204);
    await rig.gateway.beat(({ vms }) => !vms.some(({ id }) => id === "unwanted"));
    expect((await post(rig, "unwanted", "resume")).status).toBe(404);
    await runs(rig, 0);
  });

  test("with shares in it leaves those that rested or have a checkpoint", async () => {
    await Promise.all(["rests", "saved", "lost"].map((id) => rig.place(id, SHARE)));
    for (const id of ["rests", "saved"]) await rig.sh(id, `echo ${id} > /root/f`);
    await checkpoint("saved");
    await pause(rig, "rests");
    await rig.sh("saved", "echo lost > /root/f; sync");
    const since = killAll();
    await rig.gateway.report("lost", ({ ended }) => ended === "machine_died");
    for (const id of ["saved", "rests"]) {
      await isPaused(id, since);
      await resume(rig, id);
      expect(await rig.sh(id, "cat /root/f")).toBe(id);
    }
    await runs(rig, 1);
  });
});
