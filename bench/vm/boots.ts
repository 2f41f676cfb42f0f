import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LayersInUse } from "../../vm-host/disk/layers-in-use.ts";
import type { Accelerator } from "../../vm-host/driver.ts";
import { Guest } from "../../vm-host/guest/guest.ts";
import { newSelf } from "../../vm-host/guest/identity.ts";
import { makeInitrd } from "../../vm-host/images/initrd.ts";
import { BASE } from "../../vm-host/images/base.ts";
import { findImage } from "../../vm-host/images/store.ts";
import { cacheDirOf } from "../../vm-host/config.ts";
import { openRun } from "../../vm-host/janitor.ts";
import { Confinement } from "../../vm-host/qemu/confinement.ts";
import { QEMU } from "../../vm-host/qemu/command.ts";
import { QemuDriver } from "../../vm-host/qemu/driver.ts";
import { hostPlatform, qemuVersion } from "../../vm-host/qemu/platform.ts";
import { probeAccelerator } from "../../vm-host/qemu/probe.ts";
import { atEnd, tempFolder } from "../service/endings.ts";
import { SIZE } from "./host.ts";

const BOOT_MS = 120_000;

/** Machines of the same image without any template: what a plain boot takes. */
export class Boots {
  readonly accelerator: Accelerator;
  readonly #driver: QemuDriver;
  readonly #spec: Parameters<QemuDriver["boot"]>[0];

  private constructor(driver: QemuDriver, spec: Parameters<QemuDriver["boot"]>[0]) {
    this.#driver = driver;
    this.#spec = spec;
    this.accelerator = driver.accelerator;
  }

  /** Where a host has run, so that the image is there. */
  static async open(): Promise<Boots> {
    const cacheDir = cacheDirOf(process.env);
    const image = await findImage(cacheDir, BASE);
    const version = await qemuVersion();
    if (!image || version === null) throw new Error("no image or no QEMU: npm run images");
    const run = await openRun(tempFolder(), cacheDir);
    atEnd(() => run.close());
    const confinement = Confinement.of(run.seed);
    const runDir = join(run.folder, "vms");
    await mkdir(runDir, { mode: 0o711 });
    const trial = { qemu: QEMU, version, image, confinement, cacheDir, runDir: run.folder };
    const accelerator = await probeAccelerator(trial);
    const places = { runDir, diskDir: run.disks };
    const platform = await hostPlatform(version, accelerator);
    const layersInUse = new LayersInUse();
    const means = { version, accelerator, platform, confinement, cgroups: null, layersInUse };
    const driver = new QemuDriver({ ...means, ...places });
    atEnd(() => driver.close());
    const initrd = await makeInitrd(cacheDir, image, "dist/guest-agent");
    return new Boots(driver, { image, initrd, cpu: SIZE.cpu, memMb: SIZE.memMb });
  }

  /** From the start of QEMU to the answer of the first command, in ms. */
  async firstExec(): Promise<number> {
    const began = performance.now();
    const machine = await this.#driver.boot(this.#spec);
    const guest = new Guest(machine);
    await guest.identify(newSelf({ envs: {}, hasNetwork: true }), BOOT_MS);
    await guest.exec({ cmd: "/bin/true" });
    const ms = performance.now() - began;
    await machine.destroy();
    return ms;
  }
}
