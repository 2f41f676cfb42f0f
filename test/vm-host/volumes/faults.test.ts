import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VmCheckpointed } from "@svc/contract/host-protocol/vm-states.ts";
import type { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { bodyOf, fork, pause, post, resume, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Objects } from "../rig/objects.ts";
import { Rig } from "../rig/rig.ts";
import { busy, given, manifestOf, newVolume, refusedBy } from "../rig/volume-store.ts";

const MACHINE_MS = 500_000;
/** What is saved is stored at once. */
const SOON = { SVC_SHIP_DELAY_MS: "0" };

describe.skipIf(await missingMachine())("volumes, when", { timeout: MACHINE_MS }, () => {
  const objects = new Objects();
  let rig: Rig;
  let second: Rig;

  beforeAll(async () => {
    [rig, second] = await Promise.all([
      Rig.start({ objects, env: { ...SOON, SVC_HOST_ID: "vm-one" } }),
      Rig.start({ objects, env: { ...SOON, SVC_HOST_ID: "vm-two" } }),
    ]);
    await Promise.all([rig.able(), second.able()]);
    await rig.template();
  }, 2 * MACHINE_MS);
  afterEach(() => {
    Object.assign(objects, { isAway: false, isSilent: false });
  });
  afterAll(() => Promise.all([rig?.stop(), second?.stop()]));

  test("the volume of a machine that runs is stored now and then", async () => {
    const often = await Rig.start({
      objects,
      env: { SVC_HOST_ID: "vm-often", SVC_VOLUME_SYNC_MS: "100" },
    });
    const volume = newVolume();
    await often.able();
    await often.place("live", { volumes: [given(volume)] });
    const stored = manifestOf(objects, volume, ({ chunks }) => Object.keys(chunks).length > 0);
    await often.sh("live", "echo live > /data/f");
    expect(await stored).toMatchObject({ isOpen: true });
    expect(await often.sh("live", "echo on >> /data/f; cat /data/f")).toBe("live\non");
    // Wherever its customer has mounted it since: what lies at its old path by now is the machine's own disk.
    const count = ({ chunks }: VolumeManifest): number => Object.keys(chunks).length;
    const before = count(await manifestOf(objects, volume));
    // Busy for the moment in which it is stilled.
    const off =
      'off() { for try in $(seq 200); do umount "$1" 2>&- && return; sleep 0.1; done; false; }';
    const move = (from: string, to: string) => `mount --bind ${from} ${to} && off ${from}`;
    const [there, back] = [move("/data", "'/my data'"), move("'/my data'", "/data")];
    // While it is being stored, too: what stands still for that goes on. Also when it is mounted nowhere just then.
    const anew = "sleep 0.1; off /data && sleep 0.3 && mount $disk /data";
    const rounds = `for n in $(seq 12); do ${anew} && echo $n > /data/n && ${there} && ${back} || exit 1; done`;
    const disk = 'disk=$(grep " /data " /proc/mounts | cut -d" " -f1)';
    const line = [off, disk, "mkdir '/my data'", rounds, there, "echo moved"].join("\n");
    expect(await often.sh("live", line, MACHINE_MS)).toBe("moved");
    const more = manifestOf(objects, volume, (manifest) => count(manifest) > before);
    await often.sh("live", "head -c 9000000 /dev/urandom > '/my data/more'");
    await more;
    await often.delete("live");
    await often.stop();
  });

  test("another host begins where this one has stored it, and not before", async () => {
    const volume = newVolume();
    await rig.place("here", { volumes: [given(volume)] });
    await rig.sh("here", "echo one > /data/f");
    const there = (rest = {}) => second.put("there", { volumes: [given(volume, "/data", rest)] });
    expect(await refusedBy(await there())).toMatchObject(busy(/another host/i));
    objects.isAway = true;
    await rig.delete("here");
    expect(await refusedBy(await there())).toMatchObject(busy(/fetched/i));
    Object.assign(objects, { isAway: false, isSilent: false });
    await manifestOf(objects, volume, ({ isOpen }) => !isOpen);
    await second.place("there", { volumes: [given(volume)] });
    expect(await second.sh("there", "cat /data/f; echo two >> /data/f")).toBe("one");
    await second.delete("there");
    await manifestOf(objects, volume, ({ isOpen, hostId }) => !isOpen && hostId === "vm-two");
    // The first one's copy is an old one now.
    await rig.place("here", { volumes: [given(volume)] });
    expect(await rig.sh("here", "cat /data/f; echo three >> /data/f; sync")).toBe("one\ntwo");
    // Its host is away for good: what was stored goes on, and the host that comes back does not overwrite it.
    await second.place("there", { volumes: [given(volume, "/data", { takeOver: true })] });
    expect(await second.sh("there", "cat /data/f; echo four >> /data/f")).toBe("one\ntwo");
    await rig.delete("here");
    await second.delete("there");
    await manifestOf(objects, volume, ({ isOpen, hostId }) => !isOpen && hostId === "vm-two");
    await second.place("there", { volumes: [given(volume)] });
    expect(await second.sh("there", "cat /data/f")).toBe("one\ntwo\nfour");
    await second.delete("there");
  });

  describe("a killed host", () => {
    const [dead, asleep, saved] = [newVolume(), newVolume(), newVolume()];
    let after: Rig;

    beforeAll(async () => {
      const stateDir = mkdtempSync(join(tmpdir(), "vmstate-"));
      const start = () => Rig.start({ objects, stateDir, env: { SVC_HOST_ID: "vm-killed" } });
      const before = await start();
      await before.able();
      await before.place("dead", { volumes: [given(dead)] });
      await before.place("asleep", { volumes: [given(asleep)] });
      for (const id of ["dead", "asleep"]) await before.sh(id, `echo ${id} > /data/f; sync`);
      await pause(before, "asleep");
      await before.place("saved", { volumes: [given(saved)] });
      await before.sh("saved", "echo one > /data/f; echo one > /root/f; sync");
      VmCheckpointed.parse(await bodyOf(await post(before, "saved", "checkpoint"), 200));
      await before.sh("saved", "echo two >> /data/f; echo two > /root/f; sync");
      await before.end("SIGKILL");
      await before.gateway.stop();
      after = await start();
      await after.able();
    }, MACHINE_MS);
    afterAll(() => after?.stop());

    test("stores after its next start what it did not, and goes on with it while the store is down", async () => {
      await manifestOf(
        objects,
        dead,
        ({ isOpen, chunks }) => !isOpen && Object.keys(chunks).length > 0,
      );
      expect(await manifestOf(objects, asleep)).toMatchObject({ isOpen: true });
      const refused = await after.put("other", { volumes: [given(asleep)] });
      expect(await refusedBy(refused)).toMatchObject(busy(/another machine/i));
      await resume(after, "asleep");
      expect(await after.sh("asleep", "cat /data/f; echo on >> /data/f; cat /data/f")).toBe(
        "asleep\nasleep\non",
      );
      objects.isSilent = true;
      await after.delete("asleep");
      await after.place("again", { volumes: [given(asleep)] });
      expect(await after.sh("again", "cat /data/f")).toBe("asleep\non");
      Object.assign(objects, { isAway: false, isSilent: false });
      await after.delete("again");
      await manifestOf(objects, asleep, ({ isOpen }) => !isOpen);
    });

    test("goes on with a machine from its checkpoint: its volume is as it is, not as it was", async () => {
      await resume(after, "saved");
      expect(await after.sh("saved", "cat /data/f /root/f; echo three >> /data/f")).toBe(
        "one\ntwo\none",
      );
      await after.delete("saved");
      await after.place("next", { volumes: [given(saved)] });
      expect(await after.sh("next", "cat /data/f")).toBe("one\ntwo\nthree");
      await after.delete("next");
    });
  });

  test("a machine that is saved whole has it again, too", async () => {
    const env = { SVC_HOST_ID: "vm-whole", SVC_VM_SAVE: "stream" };
    const whole = await Rig.start({ objects, env });
    await whole.able();
    const volume = newVolume();
    await whole.place("whole", { volumes: [given(volume)] });
    await whole.sh("whole", "echo one > /data/f; setsid sh -c 'exec 9>>/data/f; sleep 999' &");
    await pause(whole, "whole");
    await resume(whole, "whole");
    expect(await whole.sh("whole", "echo two >> /data/f; sync; cat /data/f")).toBe("one\ntwo");
    await snapshot(whole, "whole", "snap_whole");
    await fork(whole, "copy", "snap_whole");
    expect(await whole.sh("copy", "ls /data; ls /dev/vd*")).toBe("/dev/vda");
    await whole.stop();
  });

  test("a paused machine goes on on another host, and back: its volume comes along as it was stored", async () => {
    const volume = newVolume();
    await rig.place("moved", { volumes: [given(volume)] });
    const move = async (from: Rig, to: Rig) => {
      const pausedAt = Date.now();
      const { recordId } = await pause(from, "moved");
      await from.gateway.report("moved", ({ durable }) => durable === true);
      await manifestOf(objects, volume, ({ storedAt }) => storedAt >= pausedAt);
      await bodyOf(await post(to, "moved", "resume", { recordId }), 200);
    };
    await rig.sh("moved", "echo one > /data/f; echo ram > /dev/shm/f; sync");
    await move(rig, second);
    expect(await second.sh("moved", "cat /dev/shm/f /data/f; echo two >> /data/f; sync")).toBe(
      "ram\none",
    );
    await second.sh("moved", "sync");
    await move(second, rig);
    expect(await rig.sh("moved", "cat /data/f; echo three >> /data/f")).toBe("one\ntwo");
    await second.delete("moved");
    expect(await rig.sh("moved", "cat /data/f")).toBe("one\ntwo\nthree");
    await rig.delete("moved");
  });

  test("a paused machine is durable once its volume is stored, too: another host finds all of it", async () => {
    const volume = newVolume();
    await rig.place("whole", { volumes: [given(volume)] });
    await rig.sh("whole", "echo one > /data/f");
    objects.holds = (key) => key.startsWith(`volume/${volume}/chunk-`);
    const { recordId } = await pause(rig, "whole");
    const manifest = `snapshot/org_test/${recordId}/manifest.json`;
    await objects.until(() => objects.stored.has(manifest) && objects.held.length > 0);
    const { beats } = rig.gateway;
    const before = beats.length;
    // Two heartbeats later it is not said still.
    await rig.gateway.beat(() => beats.length > before + 1);
    const told = beats.flatMap(({ vms }) => vms.filter((vm) => vm.recordId === recordId));
    expect(told.map(({ durable }) => durable)).not.toContain(true);
    objects.letGo();
    await rig.gateway.report("whole", ({ durable }) => durable === true);
    // Nothing else is waited for. No test after this one has that host.
    await rig.end("SIGKILL");
    await bodyOf(await post(second, "whole", "resume", { recordId }), 200);
    expect(await second.sh("whole", "cat /data/f")).toBe("one");
    await second.delete("whole");
  });
});
