import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QEMU, basics, machineOf } from "../../../vm-host/qemu/command.ts";
import { confined } from "../../../vm-host/qemu/confinement.ts";
import { QemuProcess } from "../../../vm-host/qemu/process.ts";
import { Qmp } from "../../../vm-host/qemu/qmp.ts";
import { plugIn } from "../../../vm-host/qemu/volume-device.ts";
import { WriteLog } from "../../../vm-host/qemu/write-log.ts";
import { serialOf } from "../../../vm-host/disk/mounted-volume.ts";

export const MIB = 1024 * 1024;
const SIZE_BYTES = 1024 * MIB;
const SLOT = 0;
/** A command that a test has broken stays broken: nobody waits long for it. */
const GONE_MS = 2_000;

/** A real QEMU that runs no guest, with a volume: the test writes to the disk where a guest would. */
export class BlankMachine {
  readonly image: string;
  readonly writes: WriteLog;
  readonly folder: string;
  readonly #process: QemuProcess;
  readonly #qmp: Qmp;
  /** What is done with a command of the write log instead of running it. */
  command = (run: () => Promise<unknown>): Promise<unknown> => run();

  private constructor(folder: string, process: QemuProcess, qmp: Qmp) {
    this.folder = folder;
    this.#process = process;
    this.#qmp = qmp;
    this.image = join(folder, "image.raw");
    this.writes = new WriteLog(
      { execute: (...ask) => this.command(() => qmp.execute(...ask)) },
      join(folder, "nbd.sock"),
      (command) => confined(command, null, null),
      GONE_MS,
    );
  }

  /** `before`: the folder of one that was killed, with its image. */
  static async start(before?: string): Promise<BlankMachine> {
    const folder = before ?? (await mkdtemp(join(tmpdir(), "blank-")));
    const socket = join(folder, "qmp.sock");
    const slot = ["-device", "pcie-root-port,id=hp0,chassis=1,slot=1"];
    const shape = [...basics("tcg", { cpu: 1, memMb: 64 }), ...machineOf(), ...slot];
    const process = new QemuProcess([QEMU, ...shape, "-S", "-qmp", `unix:${socket},server=on`]);
    const qmp = await Qmp.connect(socket, process.gone);
    const machine = new BlankMachine(folder, process, qmp);
    const file = await open(machine.image, "a");
    await file.truncate(SIZE_BYTES);
    await file.close();
    const volume = { volumeId: "vol_test", path: "/data", epoch: 1, slot: SLOT };
    const disk = { serial: serialOf("vol_test"), sizeBytes: SIZE_BYTES, file: machine.image };
    await plugIn(qmp, { ...volume, ...disk });
    return machine;
  }

  /** Writes this byte at so many MiB, or elsewhere, as the disk does what a guest asks. */
  async write(atMib: number, byte: number, at = `${atMib}M`, length = "1M"): Promise<void> {
    await this.#disk(`write ${byte === 0 ? "-z" : `-P ${byte}`} ${at} ${length}`);
  }

  async discard(atMib: number): Promise<void> {
    await this.#disk(`discard ${atMib}M 1M`);
  }

  written() {
    return this.writes.take(SLOT);
  }

  /** How many bitmaps QEMU keeps. */
  async bitmaps(): Promise<number> {
    const nodes = await this.#qmp.execute("query-named-block-nodes", { flat: true });
    return (JSON.stringify(nodes).match(/"granularity"/g) ?? []).length;
  }

  /** Writes to the image without QEMU, which hears nothing of it. */
  async forge(atMib: number, byte: number): Promise<void> {
    const file = await open(this.image, "r+");
    await file.write(Buffer.alloc(MIB, byte), 0, MIB, atMib * MIB);
    await file.close();
  }

  async kill(): Promise<void> {
    this.#qmp.close();
    await this.#process.kill();
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true });
  }

  async #disk(line: string): Promise<void> {
    const disk = "/machine/peripheral/volume0/virtio-backend";
    const command = { "command-line": `qemu-io -d ${disk} "${line}"` };
    const answer = String(await this.#qmp.execute("human-monitor-command", command));
    if (answer !== "") throw new Error(answer);
  }
}
