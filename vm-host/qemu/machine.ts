import { rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import type { GuestPort, Machine, MachineSpec, Usage } from "../driver.ts";
import { FILES, STATE_FD } from "./command.ts";
import type { QemuProcess } from "./process.ts";
import { Qmp, connectUnix } from "./qmp.ts";

const STATUS_PAUSE_MS = 2;
const LOAD_MS = 20_000;
const QUIT_MS = 2_000;

const Status = z.object({ status: z.string() });

export interface MachineParts {
  name: string;
  spec: MachineSpec;
  folder: string;
  disk: string;
  process: QemuProcess;
  /** Gives back what the machine was given: its user, its place. */
  onGone: () => void;
}

/** A machine in a QEMU process of its own. */
export class QemuMachine implements Machine {
  readonly name: string;
  readonly spec: MachineSpec;
  readonly folder: string;
  readonly disk: string;
  readonly exited: Promise<string>;
  readonly #parts: MachineParts;
  #isKept = false;
  readonly #qmp: Qmp;
  readonly #ports: Record<GuestPort, Socket>;

  private constructor(parts: MachineParts, qmp: Qmp, ports: Record<GuestPort, Socket>) {
    this.#parts = parts;
    this.#qmp = qmp;
    this.#ports = ports;
    this.name = parts.name;
    this.spec = parts.spec;
    this.folder = parts.folder;
    this.disk = parts.disk;
    this.exited = parts.process.exited.then(async (words) => {
      this.#qmp.close();
      for (const socket of Object.values(this.#ports)) socket.destroy();
      if (!this.#isKept) await this.clear();
      this.#parts.onGone();
      return words;
    });
  }

  /** Joins a process that has just been started. Ends it when it does not answer. */
  static async join(parts: MachineParts): Promise<QemuMachine> {
    const { folder, process } = parts;
    try {
      const qmp = await Qmp.connect(join(folder, FILES.qmp), process.gone);
      const [control, bulk] = await Promise.all([
        connectUnix(join(folder, FILES.control), process.gone),
        connectUnix(join(folder, FILES.bulk), process.gone),
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

  async growDisk(sizeGb: number): Promise<void> {
    const size = sizeGb * 1024 ** 3;
    await this.#qmp.execute("block_resize", { "node-name": "disk0", size });
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

  /** Ends the process in order, so that its disk is whole. Its files stay. */
  async quit(): Promise<void> {
    this.#isKept = true;
    await this.#qmp.execute("quit").catch(() => null);
    await Promise.race([this.#parts.process.exited, pause(QUIT_MS)]);
    await this.#parts.process.kill();
    await this.exited;
  }

  async destroy(): Promise<void> {
    await this.#parts.process.kill();
    await this.exited;
  }

  /** Removes the files of a machine that has ended. */
  async clear(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
    await rm(this.disk, { force: true });
  }
}
