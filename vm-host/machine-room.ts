import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { Cgroups } from "@svc/host-kit/cgroups.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { VmHostConfig } from "./config.ts";
import type { Capability } from "./driver.ts";
import type { Ground } from "./images/keeper.ts";
import type { Run } from "./janitor.ts";
import { Maker, settle } from "./machines/maker.ts";
import { run as runProgram } from "./programs.ts";
import type { Confinement } from "./qemu/confinement.ts";
import { QEMU, QemuDriver } from "./qemu/driver.ts";
import { probeAccelerator } from "./qemu/probe.ts";
import type { Store } from "./snapshots/store.ts";
import { hostPlatform } from "./snapshots/platform.ts";
import { Templates } from "./templates/templates.ts";

/** The version of QEMU, or null where there is none. */
export async function qemuVersion(): Promise<string | null> {
  const text = await runProgram(QEMU, ["--version"]).catch(() => "");
  return /version (\d[\d.]*)/.exec(text)?.[1] ?? null;
}

/** What machines can here and not everywhere. An image of a volume is made by mke2fs. */
async function capabilities(): Promise<Capability[]> {
  const isThere = await runProgram("mke2fs", ["-V"]).then(
    () => true,
    () => false,
  );
  return isThere ? ["volumes.mount"] : [];
}

export interface RoomOptions {
  config: VmHostConfig;
  run: Run;
  confinement: Confinement | null;
  cgroups: Cgroups | null;
  version: string;
  /** Where disks lie. */
  store: Store;
  log: Log;
  onTemplate: () => void;
}

/** What makes machines. */
export interface MachineRoom {
  driver: QemuDriver;
  maker: Maker;
  templates: Templates;
  platform: HostPlatform;
}

/** Opens it: possible once there is a kernel to try machines with. */
export async function openMachineRoom(
  { image }: Ground,
  { config, run, confinement, cgroups, version, store, log, onTemplate }: RoomOptions,
): Promise<MachineRoom> {
  const { cacheDir } = config;
  const runDir = join(run.folder, "vms");
  await mkdir(runDir, { mode: 0o711 });
  const probe = { qemu: QEMU, version, image, confinement, cacheDir, runDir: run.folder };
  const accelerator = await probeAccelerator(probe);
  const driver = new QemuDriver({
    version,
    accelerator,
    confinement,
    cgroups,
    runDir,
    diskDir: store.layers,
    capabilities: await capabilities(),
    ...(config.saveMode && { saveMode: config.saveMode }),
    onLayers: (below) => store.releaseLayers(below),
    onTemplate: ({ key }, name, place) => templates.holds.hold(key, name, place),
  });
  const folder = join(cacheDir, "templates");
  const budgetBytes = config.templateBytes;
  const templates = new Templates({ driver, folder, budgetBytes, log, settle });
  await templates.open();
  const maker = new Maker(driver, templates, log, onTemplate);
  return { driver, templates, maker, platform: await hostPlatform(driver) };
}
