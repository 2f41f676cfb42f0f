import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { pause, resume } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 500_000;
const MIB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;

/** Takes all the room there is. */
function fill(file: string): void {
  const handle = openSync(file, "w");
  const block = Buffer.alloc(MIB);
  const writeOn = (): void => {
    for (;;) writeSync(handle, block);
  };
  expect(writeOn).toThrow(/ENOSPC/);
  closeSync(handle);
}

describe.skipIf(!isRoot || (await missingMachine()))(
  "a disk that is full",
  { timeout: MACHINE_MS },
  () => {
    const folder = mkdtempSync(join(tmpdir(), "full-"));
    const filler = join(folder, "filler");
    let rig: Rig;

    beforeAll(async () => {
      const cache = cacheDirOf(process.env);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m", "tmpfs", folder]);
      for (const part of ["images", "templates", "layers", "accelerator.json"])
        symlinkSync(join(cache, part), join(folder, part));
      chmodSync(folder, 0o755);
      rig = await Rig.start({ env: { SVC_CACHE_DIR: folder, SVC_SHIP_DELAY_MS: "0" } });
      await rig.able();
      await rig.template();
    }, MACHINE_MS);
    afterAll(async () => {
      await rig?.stop();
      execFileSync("umount", ["--lazy", folder]);
      rmSync(folder, { recursive: true });
    });

    test("lets what was saved wait for the object store, and it gets there once there is room", async () => {
      const { objects } = rig.gateway;
      await rig.place("waits");
      await rig.sh("waits", "echo kept > /dev/shm/f");
      objects.isAway = true;
      const { recordId } = await pause(rig, "waits");
      fill(filler);
      objects.isAway = false;
      // It begins each try by asking for that.
      const manifest = `snapshot/org_test/${recordId}/manifest.json`;
      const tries = () => objects.reads.filter((key) => key === manifest).length;
      await objects.until(() => tries() >= 3);
      expect(objects.stored.has(manifest)).toBe(false);
      rmSync(filler);
      await rig.gateway.report("waits", ({ durable }) => durable === true);
      expect(objects.stored.has(manifest)).toBe(true);
      await resume(rig, "waits");
      expect(await rig.sh("waits", "cat /dev/shm/f")).toBe("kept");
      await rig.delete("waits");
    });
  },
);
