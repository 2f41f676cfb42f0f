import { randomBytes } from "node:crypto";
import { copyFile, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Cgroups, inCgroups, removeGroups } from "@svc/host-kit/cgroups.ts";
import type {
  Accelerator,
  Capability,
  Machine,
  MachineSpec,
  Rest,
  SaveMode,
  Saved,
  Template,
  VmDriver,
} from "../driver.ts";
import { type MountedVolume, filesOf } from "../volumes/mounted.ts";
import { capsOf } from "./caps.ts";
import { FILES, commandOf } from "./command.ts";
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
import { freezeLayer, shareTemplate } from "./sharing.ts";
import { loadMemory, modeOf, saveMachine, spreadMemory } from "./saving.ts";

export const QEMU = "qemu-system-x86_64";

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
  /** What it can on this machine besides what it always can. */
  capabilities?: Capability[];
  /** How machines are saved; found out with the first one unless it is given. */
  saveMode?: SaveMode;
  /** A machine that needs its template is about to begin, in this folder. */
  onTemplate?: (template: Template, name: string, folder: string) => Promise<void>;
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
  /** The layers of it that are no template's and no image's, the newest first. */
  layers?: string[];
  diskGb?: number;
  template?: Template;
  memory?: { file: string; isShared: boolean };
  state?: string;
  /** What may be done while it starts. */
  onSpawn?: (process: QemuProcess) => void;
  /** What was plugged in when it was saved. */
  volumes?: MountedVolume[];
}

export class QemuDriver implements VmDriver {
  readonly name = "qemu";
  readonly capabilities: ReadonlySet<Capability>;
  readonly version: string;
  readonly accelerator: Accelerator;
  readonly #options: QemuDriverOptions;
  readonly #processes = new Set<QemuProcess>();
  readonly #machines = new Set<QemuMachine>();
  #isClosed = false;
  #mode: Promise<SaveMode> | null = null;

  constructor(options: QemuDriverOptions) {
    this.#options = options;
    this.version = options.version;
    this.accelerator = options.accelerator;
    this.capabilities = new Set(["snapshots", "isolation.shared", ...(options.capabilities ?? [])]);
  }

  boot(spec: MachineSpec, memoryFile?: string): Promise<QemuMachine> {
    return this.#start({
      spec,
      below: { file: spec.image.disk, format: "raw" },
      ...(memoryFile !== undefined && { memory: { file: memoryFile, isShared: true } }),
    });
  }

  async clone(template: Template): Promise<QemuMachine> {
    const { folder, spec } = template;
    const machine = await this.#start({
      spec,
      template,
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
    await mine.pullLayers(belowAll(mine.spec, mine.template).file);
  }

  merge(layer: string): Promise<void> {
    return mergeLayer(layer);
  }

  layersInUse(): string[] {
    return [...this.#machines].flatMap(({ layers }) => layers);
  }

  async flatten({ spec, layers, template }: Rest): Promise<string> {
    const below = belowAll(spec, template);
    const layer = join(this.#options.diskDir, `${newName()}.qcow2`);
    await flattenLayers(layers[0] ?? "", below, layer);
    await freezeLayer(layer, this.#options.confinement);
    return layer;
  }

  async spread(rest: Rest, folder: string): Promise<void> {
    const { template, spec, layers } = rest;
    if (!template || rest.mode === "stream") throw new Error("a stream is no template");
    await spreadMemory(template, rest.folder, folder);
    const below: Below = { file: spec.image.disk, format: "raw" };
    await flattenLayers(layers[0] ?? "", below, join(folder, FILES.disk));
    await copyFile(join(rest.folder, FILES.state), join(folder, FILES.state));
    await shareTemplate(folder, this.#options.confinement);
  }

  settle({ spec, template, layers }: Pick<Rest, "spec" | "template" | "layers">): Promise<void> {
    return rebaseLayers(layers, belowAll(spec, template));
  }

  async settleTemplate(folder: string, spec: MachineSpec): Promise<void> {
    await rebaseLayers([join(folder, FILES.disk)], belowAll(spec, null));
    await shareTemplate(folder, this.#options.confinement);
  }

  async restore(rest: Rest): Promise<QemuMachine> {
    const { spec, folder, layers, template, mode, diskGb, volumes } = rest;
    for (const layer of layers) await freezeLayer(layer, this.#options.confinement);
    const memory = template && { file: join(template.folder, FILES.memory), isShared: false };
    let filled: Promise<void> | null = null;
    const machine = await this.#start({
      spec,
      below: { file: layers[0] ?? "", format: "qcow2" },
      layers,
      diskGb,
      volumes,
      ...(memory && { template, memory }),
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
    if (saveMode === "stream" || !machine.template) return Promise.resolve("stream");
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
    await shareTemplate(folder, this.#options.confinement);
  }

  async #start(start: Start): Promise<QemuMachine> {
    const { confinement, cgroups, runDir, diskDir } = this.#options;
    const { spec, below, memory, template = null, diskGb = spec.image.sizeGb } = start;
    const name = newName();
    const folder = join(runDir, name);
    const disk = join(diskDir, `${name}.qcow2`);
    const uid = confinement?.take() ?? null;
    let groups: string[] = [];
    const giveBack = (): void => {
      if (uid !== null) confinement?.release(uid);
      void removeGroups(groups);
    };
    const onGone = async (machine: QemuMachine): Promise<void> => {
      this.#machines.delete(machine);
      giveBack();
      await this.#options.onLayers?.(machine.layers.slice(1));
    };
    try {
      await mkdir(folder, { mode: 0o700 });
      if (template) await this.#options.onTemplate?.(template, name, folder);
      await makeLayer(below, disk);
      await this.#own(uid, [folder, disk, ...filesOf(start.volumes)], memory);
      if (cgroups) groups = await cgroups.add(name, capsOf(spec));
      const where = { name, folder, disk, accelerator: this.accelerator.name };
      const command = [QEMU, ...commandOf({ ...shapeOf(start), ...where })];
      const process = await this.#spawn(command, { uid, groups, state: start.state });
      start.onSpawn?.(process);
      const layers = [disk, ...(start.layers ?? [])];
      const plugs = { volumes: start.volumes ?? [], own: (file: string) => this.#own(uid, [file]) };
      const mine = { ...where, spec, template, layers, diskGb, uid, confinement, ...plugs };
      const machine = await QemuMachine.join({ ...mine, process, onGone });
      this.#machines.add(machine);
      return machine;
    } catch (error) {
      giveBack();
      await rm(folder, { recursive: true, force: true });
      await rm(disk, { force: true });
      throw error;
    }
  }

  async #spawn(command: string[], { uid, groups, state }: Terms): Promise<QemuProcess> {
    const own = inCgroups(groups, confined(command, this.#options.confinement, uid));
    const file = state === undefined ? null : await open(state);
    try {
      if (this.#isClosed) throw new Error("the host stops");
      const process = new QemuProcess(own, file?.fd);
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

/** What of a start is on the command line. */
function shapeOf({ spec, state, memory, volumes = [] }: Start) {
  return { spec, isIncoming: state !== undefined, volumes, ...(memory && { memory }) };
}

const newName = (): string => `m-${randomBytes(6).toString("hex")}`;

function ours(machine: Machine): QemuMachine {
  if (machine instanceof QemuMachine) return machine;
  throw new Error("not a machine of this driver");
}
