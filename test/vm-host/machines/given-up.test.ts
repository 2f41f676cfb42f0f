import { chmodSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VM_SIZES } from "@svc/contract/vm/machine.ts";
import { expect, onTestFinished, test } from "vitest";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;
const COMMON = { cpu: VM_SIZES.cpu.default, memMb: VM_SIZES.memMb.default };

/** A host that has an image and no golden machine yet: its first machine has to boot. */
async function freshHost(): Promise<Rig> {
  const cache = mkdtempSync(join(tmpdir(), "cache-"));
  // Machines' own users read the image.
  chmodSync(cache, 0o755);
  symlinkSync(join(cacheDirOf(process.env), "images"), join(cache, "images"));
  const rig = await Rig.start({ env: { SVC_CACHE_DIR: cache, SVC_WARM_VM: "1" } });
  onTestFinished(async () => {
    await rig.stop();
    rmSync(cache, { recursive: true });
  });
  await rig.able();
  return rig;
}

test.skipIf(await missingMachine())(
  "the boot of a sandbox that was given up goes on for the next ones that ask",
  { timeout: MACHINE_MS },
  async () => {
    const rig = await freshHost();
    const first = rig.put("first", COMMON);
    await rig.gateway.report("first", ({ state }) => state === "starting");
    await rig.delete("first");
    // Answered at once, and not when the machine is up.
    expect((await first).status).toBe(503);
    // Waits for the same boot, and is given up as well.
    const second = rig.put("second", COMMON);
    await rig.gateway.report("second", ({ state }) => state === "starting");
    await rig.delete("second");
    expect((await second).status).toBe(503);
    const third = await rig.place("third", { ...COMMON, envs: { WHO: "third" } });
    expect(third.how).toBe("warm");
    expect(await rig.sh("third", "echo $WHO")).toBe("third");
  },
);
