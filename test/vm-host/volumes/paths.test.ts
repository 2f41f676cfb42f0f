import { StateRefused } from "@svc/contract/host-protocol/vm-states.ts";
import type { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bodyOf, post, runs, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";
import { given, newVolume, refusedBy } from "../rig/volume-store.ts";

const MACHINE_MS = 500_000;

describe.skipIf(await missingMachine())(
  "a volume that cannot be mounted",
  { timeout: MACHINE_MS },
  () => {
    let rig: Rig;

    beforeAll(async () => {
      rig = await Rig.start();
      await rig.able();
      await rig.template();
    }, MACHINE_MS);
    afterAll(() => rig?.stop());

    const revert = (id: string, snapshotId: string) => post(rig, id, "revert", { snapshotId });
    const refusal = async (response: Response) => {
      const { code, error } = StateRefused.parse(await response.json());
      return [response.status, code, error];
    };

    describe("at a path", () => {
      beforeAll(async () => {
        await rig.place("from");
        await rig.sh("from", "ln -s /nowhere /root/link; sync");
        await snapshot(rig, "from", "snap_paths");
        await rig.delete("from");
      }, MACHINE_MS);
      afterAll(() => rig.call("DELETE", "/snapshots/snap_paths", "snap_paths"));

      test.each(["/etc/hostname", "/etc/hostname/deep/data", "/root/link"])(
        "%s, which is no folder in the machine, is refused for good, and is free again",
        async (path) => {
          const volume = newVolume();
          const source = { type: "snapshot", id: "snap_paths", recordPath: "" } as const;
          const refused = await rig.put("taken", { source, volumes: [given(volume, path)] });
          expect(await refusedBy(refused)).toMatchObject([
            409,
            { code: "VolumePathTaken", error: expect.stringContaining(path) },
          ]);
          await runs(rig, 0);
          await rig.place("able", { volumes: [given(volume)] });
          await rig.delete("able");
        },
      );
    });

    test("where the snapshot has a file lets the machine run on as it is", async () => {
      const volume = newVolume();
      await rig.place("file", { volumes: [given(volume)] });
      await rig.sh("file", "echo volume > /data/f; umount /data; rmdir /data; echo file > /data");
      await snapshot(rig, "file", "snap_file");
      await rig.sh("file", "rm /data; mkdir /data; mount /dev/vdb /data; echo now > /dev/shm/f");
      expect(await refusal(await revert("file", "snap_file"))).toEqual([
        409,
        "SnapshotNotRestorable",
        expect.stringContaining("/data"),
      ]);
      expect(await rig.sh("file", "cat /dev/shm/f /data/f")).toBe("now\nvolume");
      await runs(rig, 1);
      await rig.delete("file");
      await rig.place("next", { volumes: [given(volume)] });
      expect(await rig.sh("next", "cat /data/f")).toBe("volume");
      await rig.delete("next");
      await rig.call("DELETE", "/snapshots/snap_file", "snap_file");
    });

    test("anew after a revert leaves the machine paused as of the snapshot, and nothing is lost", async () => {
      const volume = newVolume();
      const isNamed = ({ vms }: VmHeartbeat): boolean => vms.some(({ id }) => id === "back");
      await rig.place("back", { volumes: [given(volume)] });
      await rig.sh("back", "echo volume > /data/f; echo whole > /dev/shm/f; sync");
      await snapshot(rig, "back", "snap_whole");
      const move = (from: string, to: string) => `mv $(command -v ${from}) /usr/bin/${to}`;
      await rig.sh("back", `${move("mount", "off")}; echo broken > /dev/shm/f; sync`);
      await snapshot(rig, "back", "snap_broken");
      await rig.sh("back", `${move("off", "mount")}; echo now > /data/f; sync`);
      expect(await refusal(await revert("back", "snap_broken"))).toEqual([
        503,
        "ResumeFailed",
        expect.stringMatching(/paused as of the snapshot/),
      ]);
      await rig.gateway.report("back", ({ state }) => state === "paused");
      // No heartbeat in between was without it.
      const first = rig.gateway.beats.findIndex(isNamed);
      expect(rig.gateway.beats.slice(first).every(isNamed)).toBe(true);
      await runs(rig, 0);
      // Nobody else gets its volume, and it is as it was when the machine ended.
      expect((await rig.put("other", { volumes: [given(volume)] })).status).toBe(503);
      expect((await post(rig, "back", "resume")).status).toBe(503);
      await bodyOf(await revert("back", "snap_whole"), 200);
      expect(await rig.sh("back", "cat /dev/shm/f /data/f")).toBe("whole\nnow");
      await rig.delete("back");
    });
  },
);
