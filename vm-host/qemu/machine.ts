import { readdir, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { inTime } from "@svc/host-kit/deadline.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import * as z from "zod";
import type { MountedVolume } from "../disk/mounted-volume.ts";
import {
  type Extent,
  FILES,
  type GoldenMachine,
  type GuestPort,
  type Machine,
  type MachineSpec,
  type Usage,
} from "../driver.ts";
import { SOCKETS, STATE_FD } from "./command.ts";
import { type Confinement, confined } from "./confinement.ts";
import type { QemuProcess } from "./process.ts";
import { Qmp, connectUnix } from "./qmp.ts";
import { plugIn, pullOut } from "./volume-device.ts";
import { WriteLog } from "./write-log.ts";

const STATUS_PAUSE_MS = 2;
const LOAD_MS = 60_000;
const QUIT_MS = 2_000;

const JOB_PAUSE_MS = 10;
const PULL_MS = 60_000;

const Jobs = z.array(z.unknown());
const Status = z.object({ status: z.string() });

export interface MachineParts {
  name: string;
  spec: MachineSpec;
  folder: string;
  golden: GoldenMachine | null;
  /** The newest first. The machine writes the newest. */
  layers: string[];
  diskGb: number;
  volumes: MountedVolume[];
  /** Gives a file to its user. */
  own: (file: string) => Promise<void>;
  /** The user it runs as; null for the host's own. */
  uid: number | null;
  confinement: Confinement | null;
  process: QemuProcess;
  /** Gives back what the machine was given: its user, its place. */
  onGone: (machine: QemuMachine) => Promise<void>;
}

/** A machine in a QEMU process of its own. */
export class QemuMachine implements Machine {
  readonly name: string;
  readonly spec: MachineSpec;
  readonly folder: string;
  readonly golden: GoldenMachine | null;
  readonly layers: string[];
  readonly exited: Promise<string>;
  readonly #parts: MachineParts;
  #isKept = false;
  #diskGb: number;
  /** The node of the layer that it writes. */
  #node = "disk0";
  readonly #qmp: Qmp;
  readonly #writes: WriteLog;
  readonly #ports: Record<GuestPort, Socket>;

  private constructor(parts: MachineParts, qmp: Qmp, ports: Record<GuestPort, Socket>) {
    this.#parts = parts;
    this.#qmp = qmp;
    const { folder, confinement, uid } = parts;
    this.#writes = new WriteLog(qmp, join(folder, SOCKETS.writes), (command) =>
      confined(command, confinement, uid),
    );
    this.#ports = ports;
    // A machine that dies with bytes on their way resets them: without a listener that would end the host.
    for (const socket of Object.values(ports)) socket.on("error", () => socket.destroy());
    this.name = parts.name;
    this.spec = parts.spec;
    this.folder = parts.folder;
    this.golden = parts.golden;
    this.layers = parts.layers;
    this.#diskGb = parts.diskGb;
    this.exited = parts.process.exited.then(async (words) => {
      this.#qmp.close();
      for (const socket of Object.values(this.#ports)) socket.destroy();
      await rm(this.folder, { recursive: true, force: true });
      if (!this.#isKept) await this.removeDisk();
      await this.#parts.onGone(this);
      return words;
    });
  }

  /** Joins a process that has just been started. Ends it when it does not answer. */
  static async join(parts: MachineParts): Promise<QemuMachine> {
    const { folder, process } = parts;
    try {
      const qmp = await Qmp.connect(join(folder, SOCKETS.qmp), process.gone);
      const [control, bulk] = await Promise.all([
        connectUnix(join(folder, SOCKETS.control), process.gone),
        connectUnix(join(folder, SOCKETS.bulk), process.gone),
      ]);
      return new QemuMachine(parts, qmp, { control, bulk });
    } catch (error) {
      await process.kill();
      throw error;
    }
  }

  openStream(port: GuestPort): Socket {
    return this.#ports[port];
  }

  async stop(): Promise<void> {
    await this.#qmp.execute("stop");
  }

  async cont(): Promise<void> {
    await this.#qmp.execute("cont");
  }

  async setNetwork(isOn: boolean): Promise<void> {
    await this.#qmp.execute("set_link", { name: "n0", up: isOn });
  }

  get uid(): number | null {
    return this.#parts.uid;
  }

  get pid(): number {
    return this.#parts.process.pid;
  }

  /** QEMU's own control of it. */
  get monitor(): Pick<Qmp, "execute"> {
    return this.#qmp;
  }

  get diskGb(): number {
    return this.#diskGb;
  }

  async growDisk(sizeGb: number): Promise<void> {
    const size = sizeGb * 1024 ** 3;
    await this.#qmp.execute("block_resize", { "node-name": this.#node, size });
    this.#diskGb = sizeGb;
  }

  /** From now on it writes into this empty layer, which lies over the one before. */
  async useLayer(file: string): Promise<void> {
    const node = `disk${this.layers.length}-${Date.now()}`;
    await this.#qmp.execute("blockdev-add", { ...layerNode(file, node), backing: null });
    try {
      await this.#qmp.execute("blockdev-snapshot", { node: this.#node, overlay: node });
    } catch (error) {
      await this.#qmp.execute("blockdev-del", { "node-name": node }).catch(() => null);
      throw error;
    }
    this.#node = node;
    this.layers.unshift(file);
  }

  /** Copies into its layer what those down to this file say, while it runs. */
  async pullLayers(base: string): Promise<void> {
    const job = { "job-id": "pull", device: this.#node, base };
    await this.#qmp.execute("block-stream", { ...job, "auto-dismiss": true });
    const until = Date.now() + PULL_MS;
    while (Jobs.parse(await this.#qmp.execute("query-block-jobs")).length > 0) {
      if (Date.now() > until) throw new Error("the layers of a disk take too long");
      await pause(JOB_PAUSE_MS);
    }
    this.layers.splice(1);
  }

  get volumes(): readonly MountedVolume[] {
    return this.#parts.volumes;
  }

  async plug(volume: MountedVolume): Promise<void> {
    if (volume.file !== null) await this.#parts.own(volume.file);
    await plugIn(this.#qmp, volume);
    this.#parts.volumes = [...this.volumes, volume];
  }

  async unplug(slot: number): Promise<void> {
    await pullOut(this.#qmp, slot);
    this.#writes.forget(slot);
    this.#parts.volumes = this.volumes.filter((volume) => volume.slot !== slot);
  }

  written(slot: number): Promise<Extent[] | null> {
    return this.#writes.take(slot);
  }

  async yield(): Promise<void> {
    // Each thread has a priority of its own; those to come have that of the one that makes them.
    for (const thread of await readdir(`/proc/${this.pid}/task`).catch(() => []))
      setPriority(Number(thread), constants.priority.PRIORITY_LOW);
  }

  usage(): Promise<Usage | null> {
    return this.#parts.process.usage();
  }

  /** The last it printed. */
  async console(): Promise<string> {
    const read = { device: "console", size: 4096 };
    return String(await this.#qmp.execute("ringbuf-read", read).catch(() => ""));
  }

  /** Reads the state of all devices from descriptor 3; the memory is in place already. */
  async load(): Promise<void> {
    // Its address has not changed: one announcement is enough. Without any, a reset of the network device, by a guest that
    // reboots or binds its driver anew, ends QEMU 7.2 by a null pointer.
    await this.#qmp.execute("migrate-set-parameters", { "announce-rounds": 1 });
    await this.#qmp.execute("migrate-incoming", { uri: `fd:${STATE_FD}` });
    const until = Date.now() + LOAD_MS;
    for (;;) {
      const { status } = Status.parse(await this.#qmp.execute("query-status"));
      if (status === "paused" || status === "running") return;
      if (status !== "inmigrate") throw new Error(`the state did not load: ${status}`);
      if (Date.now() > until) throw new Error("the state did not load in time");
      await pause(STATUS_PAUSE_MS);
    }
  }

  /** Writes the state of all devices into a file of the machine's folder. */
  async save(): Promise<void> {
    const filename = join(this.folder, FILES.state);
    // Of a stopped machine: its memory is a file of its own and not in there.
    await this.#qmp.execute("xen-save-devices-state", { filename, live: false });
  }

  keepDisk(isKept: boolean): void {
    this.#isKept = isKept;
  }

  /** Ends the process in order, so that its disk is whole. Of its files only the disk stays. */
  async quit(): Promise<void> {
    this.keepDisk(true);
    await this.#qmp.execute("quit").catch(() => null);
    await inTime(this.#parts.process.exited, QUIT_MS);
    await this.#parts.process.kill();
    await this.exited;
  }

  async destroy(): Promise<void> {
    await this.#parts.process.kill();
    await this.exited;
  }

  /** Removes the layer it wrote. */
  async removeDisk(): Promise<void> {
    await rm(this.layers[0] ?? "", { force: true });
  }
}

/** Loads a saved state into a new machine. A machine that does not load ends. */
export async function loaded(
  machine: QemuMachine,
  load: () => Promise<void>,
): Promise<QemuMachine> {
  try {
    await load();
    return machine;
  } catch (error) {
    await machine.destroy();
    const words = await machine.exited;
    throw new Error(`a saved machine did not load: ${messageOf(error)} ${words}`.trim());
  }
}

function layerNode(filename: string, node: string) {
  const file = { driver: "file", filename, discard: "unmap" };
  return { driver: "qcow2", "node-name": node, discard: "unmap", file };
}
