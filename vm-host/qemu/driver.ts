import { randomBytes } from "node:crypto";
import { copyFile, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { type Cgroups, inCgroups, removeGroups } from "@svc/host-kit/cgroups.ts";
import type { LayersInUse } from "../disk/layers-in-use.ts";
import { type MountedVolume, filesOf } from "../disk/mounted-volume.ts";
import {
  FILES,
  type Accelerator,
  type Capability,
  type GoldenMachine,
  type Machine,
  type MachineSpec,
  type SaveMode,
  type Saved,
  type SavedMachine,
  type VmDriver,
} from "../driver.ts";
import { capsOf } from "./caps.ts";
import { QEMU, commandOf } from "./command.ts";
import { type Confinement, confined } from "./confinement.ts";
import {
  type Below,
  belowAll,
  flattenLayers,
  makeLayer,
  mergeLayer,
  rebaseLayers,
} from "./layers.ts";
import { QemuMachine, loaded } from "./machine.ts";
import { QemuProcess } from "./process.ts";
import { freezeLayer, shareGolden } from "./sharing.ts";
import { loadMemory, modeOf, saveMachine, spreadMemory } from "./saving.ts";

export interface QemuDriverOptions {
  version: string;
  accelerator: Accelerator;
  platform: HostPlatform;
  confinement: Confinement | null;
  /** Caps what a machine takes of the host; null where that cannot be. */
  cgroups: Cgroups | null;
  /** Where machines have their folders: short, for a socket's path holds 107 bytes. */
  runDir: string;
  /** Where their disks lie. */
  diskDir: string;
  /** Where it says which layers its machines have. */
  layersInUse: LayersInUse;
  /** What it can on this computer besides what it always can. */
  capabilities?: Capability[];
  /** How machines are saved; found out with the first one unless it is given. */
  saveMode?: SaveMode;
  /** A machine that needs its golden machine is about to begin, in this folder. */
  onGolden?: (golden: GoldenMachine, name: string, folder: string) => Promise<void>;
  /** A machine has ended: these layers, below its own, are no longer needed by it. */
  onLayers?: (layers: string[]) => Promise<void>;
}

/** As whom a machine's process runs, within which caps, and the state it reads. */
interface Terms {
  uid: number | null;
  groups: string[];
  state: string | undefined;
}

/** How a machine's memory and disk come to be. */
interface Start {
  spec: MachineSpec;
  /** What lies under the machine's own disk. */
  below: Below;
  /** The layers of it that are no golden machine's and no image's, the newest first. */
  layers?: string[];
  diskGb?: number;
  golden?: GoldenMachine;
  memory?: { file: string; isShared: boolean };
  state?: string;
  /** What may be done while it starts. */
  onSpawn?: (process: QemuProcess) => void;
  /** What was plugged in when it was saved. */
  volumes?: MountedVolume[];
}

export class QemuDriver implements VmDriver {
  readonly capabilities: ReadonlySet<Capability>;
  readonly version: string;
  readonly accelerator: Accelerator;
  readonly platform: HostPlatform;
  readonly #options: QemuDriverOptions;
  readonly #processes = new Set<QemuProcess>();
  #isClosed = false;
  #mode: Promise<SaveMode> | null = null;

  constructor(options: QemuDriverOptions) {
    this.#options = options;
    this.version = options.version;
    this.accelerator = options.accelerator;
    this.platform = options.platform;
    this.capabilities = new Set(["snapshots", "isolation.shared", ...(options.capabilities ?? [])]);
  }

  boot(spec: MachineSpec, memoryFile?: string): Promise<QemuMachine> {
    return this.#start({
      spec,
      below: { file: spec.image.disk, format: "raw" },
      ...(memoryFile !== undefined && { memory: { file: memoryFile, isShared: true } }),
    });
  }

  async clone(golden: GoldenMachine): Promise<QemuMachine> {
    const { folder, spec } = golden;
    const machine = await this.#start({
      spec,
      golden,
      below: { file: join(folder, FILES.disk), format: "qcow2" },
      memory: { file: join(folder, FILES.memory), isShared: false },
      state: join(folder, FILES.state),
    });
    return loaded(machine, () => machine.load());
  }

  async save(machine: Machine, folder: string): Promise<Saved> {
    const mine = ours(machine);
    return saveMachine(mine, folder, await this.#modeOf(mine));
  }

  async newLayer(machine: Machine): Promise<string> {
    const mine = ours(machine);
    const layer = join(this.#options.diskDir, `${newName()}.qcow2`);
    await makeLayer({ file: mine.layers[0] ?? "", format: "qcow2" }, layer, mine.diskGb);
    await this.#own(mine.uid, [layer]);
    return layer;
  }

  async useLayer(machine: Machine, layer: string): Promise<void> {
    const mine = ours(machine);
    const [top = ""] = mine.layers;
    await mine.useLayer(layer);
    await freezeLayer(top, this.#options.confinement);
  }

  async unlayer(machine: Machine): Promise<void> {
    const mine = ours(machine);
    await mine.pullLayers(belowAll(mine.spec, mine.golden).file);
  }

  merge(layer: string): Promise<void> {
    return mergeLayer(layer);
  }

  async flatten({ spec, layers, golden }: SavedMachine): Promise<string> {
    const below = belowAll(spec, golden);
    const layer = join(this.#options.diskDir, `${newName()}.qcow2`);
    await flattenLayers(layers[0] ?? "", below, layer);
    await freezeLayer(layer, this.#options.confinement);
    return layer;
  }

  async spread(saved: SavedMachine, folder: string): Promise<void> {
    const { golden, spec, layers } = saved;
    if (!golden || saved.mode === "stream")
      throw new Error("a stream cannot become a golden machine");
    await spreadMemory(golden, saved.folder, folder);
    const below: Below = { file: spec.image.disk, format: "raw" };
    await flattenLayers(layers[0] ?? "", below, join(folder, FILES.disk));
    await copyFile(join(saved.folder, FILES.state), join(folder, FILES.state));
    await shareGolden(folder, this.#options.confinement);
  }

  settle({
    spec,
    golden,
    layers,
  }: Pick<SavedMachine, "spec" | "golden" | "layers">): Promise<void> {
    return rebaseLayers(layers, belowAll(spec, golden));
  }

  async settleGolden(folder: string, spec: MachineSpec): Promise<void> {
    await rebaseLayers([join(folder, FILES.disk)], belowAll(spec, null));
    await shareGolden(folder, this.#options.confinement);
  }

  async restore(saved: SavedMachine): Promise<QemuMachine> {
    const { spec, folder, layers, golden, mode, diskGb, volumes } = saved;
    for (const layer of layers) await freezeLayer(layer, this.#options.confinement);
    const memory = golden && { file: join(golden.folder, FILES.memory), isShared: false };
    let filled: Promise<void> | null = null;
    const machine = await this.#start({
      spec,
      below: { file: layers[0] ?? "", format: "qcow2" },
      layers,
      diskGb,
      volumes,
      ...(memory && { golden, memory }),
      state: join(folder, mode === "stream" ? FILES.stream : FILES.state),
      onSpawn: (process) => {
        filled = memory && mode === "delta" ? loadMemory(process, memory.file, folder) : null;
        filled?.catch(() => null);
      },
    });
    return loaded(machine, async () => {
      await filled;
      await machine.load();
    });
  }

  #modeOf(machine: QemuMachine): Promise<SaveMode> {
    const { saveMode } = this.#options;
    if (saveMode === "stream" || !machine.golden) return Promise.resolve("stream");
    return (this.#mode ??= modeOf(machine));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#processes].map((process) => process.kill()));
  }

  async freeze(machine: Machine, folder: string): Promise<void> {
    const mine = ours(machine);
    await mine.stop();
    await mine.save();
    await copyFile(join(mine.folder, FILES.state), join(folder, FILES.state));
    await mine.quit();
    await copyFile(mine.layers[0] ?? "", join(folder, FILES.disk));
    await mine.removeDisk();
    await shareGolden(folder, this.#options.confinement);
  }

  async #start(start: Start): Promise<QemuMachine> {
    const { confinement, cgroups, runDir, diskDir, layersInUse } = this.#options;
    const { spec, below, memory, golden = null, diskGb = spec.image.sizeGb, volumes = [] } = start;
    const name = newName();
    const [folder, disk] = [join(runDir, name), join(diskDir, `${name}.qcow2`)];
    const uid = confinement?.take() ?? null;
    let groups: string[] = [];
    const giveBack = (): void => {
      if (uid !== null) confinement?.release(uid);
      void removeGroups(groups);
    };
    const onGone = async (machine: QemuMachine): Promise<void> => {
      layersInUse.delete(machine);
      giveBack();
      await this.#options.onLayers?.(machine.layers.slice(1));
    };
    try {
      await mkdir(folder, { mode: 0o700 });
      if (golden) await this.#options.onGolden?.(golden, name, folder);
      await makeLayer(below, disk);
      await this.#own(uid, [folder, disk, ...filesOf(volumes)], memory);
      if (cgroups) groups = await cgroups.add(name, capsOf(spec));
      const where = { name, folder, disk, accelerator: this.accelerator.name };
      const shape = { spec, isIncoming: start.state !== undefined, volumes };
      const command = commandOf({ ...shape, ...where, ...(memory && { memory }) });
      const process = await this.#spawn(command, { uid, groups, state: start.state });
      start.onSpawn?.(process);
      const layers = [disk, ...(start.layers ?? [])];
      const own = (file: string): Promise<void> => this.#own(uid, [file]);
      const mine = { ...where, spec, golden, layers, diskGb, uid, confinement, volumes, own };
      const machine = await QemuMachine.join({ ...mine, process, onGone });
      layersInUse.add(machine);
      return machine;
    } catch (error) {
      giveBack();
      await rm(folder, { recursive: true, force: true });
      await rm(disk, { force: true });
      throw error;
    }
  }

  async #spawn(args: string[], { uid, groups, state }: Terms): Promise<QemuProcess> {
    const own = confined([QEMU, ...args], this.#options.confinement, uid);
    const file = state === undefined ? null : await open(state);
    try {
      if (this.#isClosed) throw new Error("the host stops");
      const process = new QemuProcess(inCgroups(groups, own), file?.fd);
      this.#processes.add(process);
      void process.exited.then(() => this.#processes.delete(process));
      return process;
    } finally {
      await file?.close();
    }
  }

  async #own(uid: number | null, paths: string[], memory?: Start["memory"]): Promise<void> {
    const { confinement } = this.#options;
    if (!confinement || uid === null) return;
    for (const path of paths) await confinement.give(path, uid);
    if (memory?.isShared) await confinement.give(memory.file, uid);
  }
}

const newName = (): string => `m-${randomBytes(6).toString("hex")}`;

function ours(machine: Machine): QemuMachine {
  if (machine instanceof QemuMachine) return machine;
  throw new Error("not a machine of this driver");
}
