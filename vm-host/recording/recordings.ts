import { join } from "node:path";
import { SCREEN_DEFAULT, sizeOfScreen } from "@svc/contract/vm/machine.ts";
import type { Cgroups } from "@svc/host-kit/cgroups.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { ObjectStore } from "@svc/host-kit/object-store.ts";
import type { Vm } from "../machines/vm.ts";
import type { Confinement } from "../qemu/confinement.ts";
import { SCREEN_PORT } from "../screen/screen.ts";
import { Recorder } from "./recorder.ts";
import { type Bounds, hasEncoder } from "./vp8.ts";
import { WaitingParts } from "./waiting-parts.ts";

/** All encoders together may take so much of the computer. */
const ENCODERS = { memoryBytes: 4 * 1024 ** 3, tasks: 512 };

export interface RecordingsOptions {
  /** Outlives the process of the host. */
  stateDir: string;
  gatewayUrl: string;
  hostToken: string;
  confinement: Confinement | null;
  cgroups: Cgroups | null;
  log: Log;
}

interface Parts extends Bounds {
  waiting: WaitingParts;
  canRecord: boolean;
  log: Log;
}

/** The recordings of the desktops that run here: each from the machine's first moment on this host until the machine ends. */
export class Recordings {
  readonly #parts: Parts;
  readonly #ending = new Set<Promise<void>>();

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  static async open(options: RecordingsOptions): Promise<Recordings> {
    const { stateDir, confinement, cgroups, log } = options;
    const groups = (await cgroups?.add("encoders", ENCODERS)) ?? [];
    const folder = join(stateDir, "recordings");
    const objects = new ObjectStore(options);
    const waiting = await WaitingParts.open({ folder, objects, log });
    return new Recordings({ waiting, canRecord: await hasEncoder(), confinement, groups, log });
  }

  /** There is an ffmpeg here. */
  get canRecord(): boolean {
    return this.#parts.canRecord;
  }

  /** Records a machine that has just begun to run, if it is one that is recorded. */
  begin(vm: Vm): void {
    const { id, guest, machine } = vm;
    const { waiting, canRecord, log } = this.#parts;
    const { isRecorded, resolution = SCREEN_DEFAULT } = guest.self;
    if (!isRecorded) return;
    if (!canRecord) return log.warn({ machine: machine.name }, "desktop_not_recorded");
    const recorder = new Recorder({
      ...this.#parts,
      dial: () => guest.dial(SCREEN_PORT),
      size: sizeOfScreen(resolution),
      store: async (file, part) => {
        // Known since the answer to the create.
        const { org } = vm;
        if (org === null) throw new Error("nobody has asked for this machine");
        await waiting.add({ org, sandbox: id, file }, part);
      },
    });
    const ended = machine.exited.then(() => recorder.close());
    this.#ending.add(ended);
    void ended.finally(() => this.#ending.delete(ended));
  }

  /** Once all machines have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#ending);
    await this.#parts.waiting.close();
  }
}
