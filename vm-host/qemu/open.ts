import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Capability } from "../driver.ts";
import type { Image } from "../images/store.ts";
import { run } from "../programs.ts";
import { QEMU } from "./command.ts";
import { QemuDriver, type QemuDriverOptions } from "./driver.ts";
import { hostPlatform } from "./platform.ts";
import { probeAccelerator } from "./probe.ts";

type Given = Omit<QemuDriverOptions, "accelerator" | "platform" | "runDir" | "capabilities">;

export interface OpenOptions extends Given {
  /** The image whose kernel is tried. */
  image: Image;
  cacheDir: string;
  /** The folder of this run of the host. */
  runFolder: string;
}

/** Finds out how machines run here, and opens the driver. Throws where no machine boots. */
export async function openQemu(options: OpenOptions): Promise<QemuDriver> {
  const { image, cacheDir, runFolder, ...given } = options;
  const { version, confinement } = given;
  const runDir = join(runFolder, "vms");
  await mkdir(runDir, { mode: 0o711 });
  const trial = { qemu: QEMU, version, image, confinement, cacheDir, runDir: runFolder };
  const accelerator = await probeAccelerator(trial);
  const platform = await hostPlatform(version, accelerator);
  const found = { accelerator, platform, runDir, capabilities: await capabilities() };
  return new QemuDriver({ ...given, ...found });
}

/** What machines can on this computer and not everywhere. An image of a volume is made by mke2fs. */
async function capabilities(): Promise<Capability[]> {
  const isThere = await run("mke2fs", ["-V"]).then(
    () => true,
    () => false,
  );
  return isThere ? ["volumes.mount"] : [];
}
