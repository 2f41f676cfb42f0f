import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Accelerator } from "../../vm-host/driver.ts";
import { Guest } from "../../vm-host/guest/guest.ts";
import { newSelf } from "../../vm-host/guest/identity.ts";
import { makeLayer } from "../../vm-host/images/layer.ts";
import { BASE } from "../../vm-host/images/recipe.ts";
import { findImage } from "../../vm-host/images/store.ts";
import { cacheDirOf } from "../../vm-host/config.ts";
import { openRun } from "../../vm-host/janitor.ts";
import { qemuVersion } from "../../vm-host/machine-room.ts";
import { Confinement } from "../../vm-host/qemu/confinement.ts";
import { QEMU, QemuDriver } from "../../vm-host/qemu/driver.ts";
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
    const means = { version, accelerator, confinement, cgroups: null };
    const driver = new QemuDriver({ ...means, ...places });
    atEnd(() => driver.close());
    const layer = await makeLayer(cacheDir, image, "dist/guest-agent");
    return new Boots(driver, { image, layer, cpu: SIZE.cpu, memMb: SIZE.memMb });
  }

  /** From the start of QEMU to the answer of the first command, in ms. */
  async firstExec(): Promise<number> {
    const began = performance.now();
    const machine = await this.#driver.boot(this.#spec);
    const guest = new Guest(machine);
    await guest.identify(newSelf({}, true), BOOT_MS);
    await guest.exec({ cmd: "/bin/true" });
    const ms = performance.now() - began;
    await machine.destroy();
    return ms;
  }
}
