import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { killIfThere } from "../../support/process/process-tree.ts";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { hashText } from "../../../vm-host/disk/files.ts";
import { ownerOf } from "../../../vm-host/disk/owner.ts";
import { bodyOf, fork, pause, pidsOf, post, resume, runs, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Objects } from "../rig/objects.ts";
import { Rig } from "../rig/rig.ts";
import { busy, chunksOf, given, manifestOf, newVolume, refusedBy } from "../rig/volume-store.ts";

const MACHINE_MS = 500_000;

describe.skipIf(await missingMachine())("volumes", { timeout: MACHINE_MS }, () => {
  const objects = new Objects();
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start({ objects, env: { SVC_HOST_ID: "vm-one" } });
    await rig.able();
    await rig.template();
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  test("a host that can mount says so", async () => {
    expect(rig.gateway.last?.capabilities).toContain("volumes.mount");
  });

  test("what is written is there for the next machine, whether its writer synced it or not", async () => {
    const volume = newVolume();
    await rig.place("first", { volumes: [given(volume, "/mnt/deep/data")] });
    expect(await rig.sh("first", "ls -A /mnt/deep/data; stat -f -c %T /mnt/deep/data")).toBe(
      "ext2/ext3",
    );
    await rig.sh(
      "first",
      "head -c 3000000 /dev/urandom > /mnt/deep/data/f; echo x > /mnt/deep/data/g",
    );
    const sum = await rig.sh("first", "sha256sum < /mnt/deep/data/f");
    expect((await rig.delete("first")).status).toBe(204);
    await rig.place("second", { volumes: [given(volume)], isolation: "hardened" });
    expect(await rig.sh("second", "cat /data/g; sha256sum < /data/f")).toBe(`x\n${sum}`);
    await rig.delete("second");
    const manifest = await manifestOf(objects, volume, ({ isOpen }) => !isOpen);
    expect(manifest).toMatchObject({ epoch: 2, hostId: "vm-one" });
    const hashes = [...new Set(Object.values(manifest.chunks))];
    expect(chunksOf(objects, volume)).toEqual(expect.arrayContaining(hashes));
  });

  test("a machine has several, one within another", async () => {
    const [outer, inner] = [newVolume(), newVolume()];
    const volumes = [given(inner, "/data/inner"), given(outer, "/data")];
    await rig.place("two", { volumes });
    await rig.sh("two", "echo out > /data/f; echo in > /data/inner/f");
    await rig.delete("two");
    await rig.place("two", { volumes: [given(inner, "/in"), given(outer, "/out")] });
    expect(await rig.sh("two", "cat /in/f /out/f; ls /out")).toBe("in\nout\nf\ninner");
    await rig.delete("two");
  });

  test("it survives a pause with a file open, and a machine that dies", async () => {
    const volume = newVolume();
    await rig.place("open", { volumes: [given(volume)] });
    const tick = 'syswrite($file, "tick\\n"); select(undef, undef, undef, 0.1)';
    const writer = `open(my $file, ">", "/data/f"); while (1) { ${tick} }`;
    await rig.sh("open", `echo before > /data/g; setsid perl -e '${writer}' >/dev/null 2>&1 &`);
    for (let round = 0; round < 2; round += 1) {
      await pause(rig, "open");
      await runs(rig, 0);
      await resume(rig, "open");
      const lines = Number(await rig.sh("open", "sync; wc -l < /data/f"));
      await expect
        .poll(async () => Number(await rig.sh("open", "wc -l < /data/f")))
        .toBeGreaterThan(lines);
    }
    await rig.sh("open", "echo after >> /data/g; sync");
    for (const pid of pidsOf(rig)) killIfThere(pid);
    await rig.gateway.report("open", ({ ended }) => ended === "machine_died");
    await rig.place("next", { volumes: [given(volume)] });
    expect(await rig.sh("next", "cat /data/g; head -1 /data/f")).toBe("before\nafter\ntick");
    await rig.delete("next");
  });

  test("a paused machine keeps it: nobody else gets it, and its own end frees it", async () => {
    const volume = newVolume();
    await rig.place("holder", { volumes: [given(volume)] });
    await rig.sh("holder", "echo kept > /data/f; sync");
    const other = () => rig.put("other", { volumes: [given(volume)] });
    expect(await refusedBy(await other())).toMatchObject(busy(/another machine/i));
    await pause(rig, "holder");
    expect(await refusedBy(await other())).toMatchObject(busy(/another machine/i));
    expect((await rig.delete("holder")).status).toBe(204);
    await rig.place("other", { volumes: [given(volume)] });
    expect(await rig.sh("other", "cat /data/f")).toBe("kept");
    await rig.delete("other");
    await runs(rig, 0);
  });

  test("a fork never has the volume of its parent, and its memory of it is gone", async () => {
    const [volume, own] = [newVolume(), newVolume()];
    await rig.place("parent", { volumes: [given(volume)] });
    await rig.sh(
      "parent",
      "echo parent > /data/f; sync; setsid sh -c 'exec 9>>/data/f; sleep 999' &",
    );
    await snapshot(rig, "parent", "snap_volume");
    await fork(rig, "child", "snap_volume");
    expect(
      await rig.sh("child", "ls /data; echo child > /data/f; grep -c /data /proc/mounts"),
    ).toBe("0");
    await rig.place("owner", {
      source: { type: "snapshot", id: "snap_volume", recordPath: "" },
      volumes: [given(own)],
    });
    expect(await rig.sh("owner", "ls /data; echo own > /data/f; grep -c /data /proc/mounts")).toBe(
      "1",
    );
    // Often enough to be made a template, were it one without volumes.
    await fork(rig, "third", "snap_volume");
    expect(await rig.sh("third", "ls /data; ls /dev/vd*")).toBe("/dev/vda");
    expect(await rig.sh("parent", "echo on >> /data/f; cat /data/f")).toBe("parent\non");
    await Promise.all(["parent", "child", "owner", "third"].map((id) => rig.delete(id)));
    await rig.place("after", { volumes: [given(volume), given(own, "/own")] });
    expect(await rig.sh("after", "cat /data/f /own/f")).toBe("parent\non\nown");
    await rig.delete("after");
    await rig.call("DELETE", "/snapshots/snap_volume", "snap_volume");
  });

  test("a revert has the volume as it is now, running or paused", async () => {
    const volume = newVolume();
    await rig.place("back", { volumes: [given(volume)] });
    await rig.sh("back", "echo then > /data/f; echo then > /root/f; sync");
    await snapshot(rig, "back", "snap_revert");
    for (const isPaused of [false, true]) {
      await rig.sh("back", "echo now > /data/f; echo now > /root/f; sync");
      if (isPaused) await pause(rig, "back");
      await bodyOf(await post(rig, "back", "revert", { snapshotId: "snap_revert" }), 200);
      expect(await rig.sh("back", "cat /data/f /root/f")).toBe("now\nthen");
    }
    await rig.delete("back");
    await rig.call("DELETE", "/snapshots/snap_revert", "snap_revert");
  });

  test("ends that are asked for twice at once are both answered when the volume is free", async () => {
    const volume = newVolume();
    for (let round = 0; round < 2; round += 1) {
      await rig.place(`twice${round}`, { volumes: [given(volume)] });
      await rig.sh(`twice${round}`, "head -c 20000000 /dev/zero | tr '\\0' x > /data/f");
      const ended = Array.from({ length: 3 }, () => rig.delete(`twice${round}`));
      expect((await Promise.race(ended)).status).toBe(204);
    }
    await Promise.all(["twice0", "twice1"].map((id) => rig.delete(id)));
  });

  test("what is deleted inside takes no room on the host", async () => {
    const volume = newVolume();
    await rig.place("sparse", { volumes: [given(volume)] });
    // Of this host's folder: others on this machine have volumes, too.
    const { id } = await ownerOf(rig.stateDir);
    const folder = join(cacheDirOf(process.env), "volumes", hashText(id));
    const blocks = () => statSync(join(folder, hashText(volume), "image.raw")).blocks * 512;
    const before = blocks();
    await rig.sh("sparse", "head -c 60000000 /dev/urandom > /data/f; sync");
    expect(blocks() - before).toBeGreaterThan(50_000_000);
    await rig.sh("sparse", "rm /data/f; sync; fstrim /data");
    expect(blocks() - before).toBeLessThan(30_000_000);
    await rig.delete("sparse");
  });

  test.each([
    ["..", "/data"],
    ["vol_../../../etc", "/data"],
    [`vol_${"0".repeat(32)}\0`, "/data"],
    [`vol_${"0".repeat(4093)}`, "/data"],
    ["%2e%2e", "/data"],
    [`vol_${"0".repeat(32)}`, "data"],
    [`vol_${"0".repeat(32)}`, "/da\0ta"],
    [`vol_${"0".repeat(32)}`, "/"],
  ])("%j at %j is malformed", async (volumeId, path) => {
    const response = await rig.put("odd", { volumes: [{ volumeId, path, epoch: 1 }] });
    expect(response.status).toBe(400);
  });
});
