import { randomBytes } from "node:crypto";
import { chmod, chown, copyFile, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Caps, type Cgroups, inCgroups, removeGroups } from "@svc/host-kit/cgroups.ts";
import type { Accelerator, Machine, MachineSpec, Template, VmDriver } from "../driver.ts";
import { run } from "../programs.ts";
import { FILES, commandOf } from "./command.ts";
import { type Confinement, confined } from "./confinement.ts";
import { QemuMachine } from "./machine.ts";
import { QemuProcess } from "./process.ts";

export const QEMU = "qemu-system-x86_64";

/** What QEMU needs beside the memory of its machine: translated code above all. */
const OVERHEAD_MB = 768;
/** Threads: one a processor, and up to 64 that wait for disks. */
const TASKS = 160;

export interface QemuDriverOptions {
  version: string;
  accelerator: Accelerator;
  confinement: Confinement | null;
  /** Caps what a machine takes of the host; null where that cannot be. */
  cgroups: Cgroups | null;
  /** Where machines have their folders: short, for a socket's path holds 107 bytes. */
  runDir: string;
  /** Where their disks lie. */
  diskDir: string;
}

/** How a machine's memory and disk come to be. */
interface Start {
  spec: MachineSpec;
  /** The layer under the machine's own disk. */
  below: { file: string; format: "raw" | "qcow2" };
  memory?: { file: string; isShared: boolean };
  state?: string;
}

export class QemuDriver implements VmDriver {
  readonly capabilities = new Set<never>();
  readonly version: string;
  readonly accelerator: Accelerator;
  readonly #options: QemuDriverOptions;
  readonly #processes = new Set<QemuProcess>();
  #isClosed = false;

  constructor(options: QemuDriverOptions) {
    this.#options = options;
    this.version = options.version;
    this.accelerator = options.accelerator;
  }

  /** `memoryFile` makes its memory a file, which is what a template is later made of. */
  boot(spec: MachineSpec, memoryFile?: string): Promise<QemuMachine> {
    return this.#start({
      spec,
      below: { file: spec.image.disk, format: "raw" },
      ...(memoryFile !== undefined && { memory: { file: memoryFile, isShared: true } }),
    });
  }

  async clone({ folder, spec }: Template): Promise<QemuMachine> {
    const machine = await this.#start({
      spec,
      below: { file: join(folder, FILES.disk), format: "qcow2" },
      memory: { file: join(folder, FILES.memory), isShared: false },
      state: join(folder, FILES.state),
    });
    try {
      await machine.load();
      return machine;
    } catch (error) {
      await machine.destroy();
      throw error;
    }
  }

  /** Ends every machine, also those that are on their way, and makes no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#processes].map((process) => process.kill()));
  }

  async freeze(machine: Machine, folder: string): Promise<void> {
    if (!(machine instanceof QemuMachine)) throw new Error("not a machine of this driver");
    await machine.stop();
    await machine.save();
    await machine.quit();
    await copyFile(join(machine.folder, FILES.state), join(folder, FILES.state));
    await copyFile(machine.disk, join(folder, FILES.disk));
    for (const file of [FILES.state, FILES.disk]) await chmod(join(folder, file), 0o444);
    await machine.clear();
    await this.#share(join(folder, FILES.memory));
  }

  // QEMU 7.2 opens a private mapping's file for writing: every machine's user needs the right, though none
  // ever writes. Nobody else gets it.
  async #share(memory: string): Promise<void> {
    const { confinement } = this.#options;
    if (!confinement) return chmod(memory, 0o600);
    await chown(memory, 0, confinement.gid);
    await chmod(memory, 0o660);
  }

  async #start(start: Start): Promise<QemuMachine> {
    const { confinement, cgroups, runDir, diskDir, accelerator } = this.#options;
    const { spec, below, memory } = start;
    const name = `m-${randomBytes(6).toString("hex")}`;
    const folder = join(runDir, name);
    const disk = join(diskDir, `${name}.qcow2`);
    const uid = confinement?.take() ?? null;
    let groups: string[] = [];
    const onGone = (): void => {
      if (uid !== null) confinement?.release(uid);
      void removeGroups(groups);
    };
    try {
      await mkdir(folder, { mode: 0o700 });
      await overlay(below, disk);
      await this.#own(uid, [folder, disk], memory);
      if (cgroups) groups = await cgroups.add(name, capsOf(spec));
      const isIncoming = start.state !== undefined;
      const shape = { name, spec, accelerator: accelerator.name, folder, disk, isIncoming };
      const command = [QEMU, ...commandOf({ ...shape, ...(memory && { memory }) })];
      const own = inCgroups(groups, confined(command, confinement, uid));
      const process = await this.#spawn(own, start.state);
      return await QemuMachine.join({ name, spec, folder, disk, process, onGone });
    } catch (error) {
      onGone();
      await rm(folder, { recursive: true, force: true });
      await rm(disk, { force: true });
      throw error;
    }
  }

  async #spawn(command: string[], state: string | undefined): Promise<QemuProcess> {
    const file = state === undefined ? null : await open(state);
    try {
      if (this.#isClosed) throw new Error("the host stops");
      const process = new QemuProcess(command, file?.fd);
      this.#processes.add(process);
      void process.exited.then(() => this.#processes.delete(process));
      return process;
    } finally {
      await file?.close();
    }
  }

  async #own(uid: number | null, paths: string[], memory: Start["memory"]): Promise<void> {
    const { confinement } = this.#options;
    if (!confinement || uid === null) return;
    for (const path of paths) await confinement.give(path, uid);
    if (memory?.isShared) await confinement.give(memory.file, uid);
  }
}

const capsOf = ({ memMb }: MachineSpec): Caps => ({
  memoryBytes: (memMb + OVERHEAD_MB) * 1024 ** 2,
  tasks: TASKS,
});

/** A disk that begins as another one and keeps what changes. */
async function overlay({ file, format }: Start["below"], disk: string): Promise<void> {
  const work = `${disk}.new`;
  await run("qemu-img", ["create", "-q", "-f", "qcow2", "-F", format, "-b", file, work]);
  await rename(work, disk);
}
