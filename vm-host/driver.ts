import type { Duplex } from "node:stream";
import type { Image } from "./images/store.ts";
import type { Layer } from "./images/layer.ts";
import type { MountedVolume } from "./volumes/mounted.ts";

/** How machines run here, found by booting a real kernel. */
export interface Accelerator {
  name: "kvm" | "hvf" | "tcg";
  /** Why it is not a faster one, or empty. */
  reason: string;
  /** How long the trial machine took. */
  bootMs: number;
}

/** What a machine is to be. */
export interface MachineSpec {
  image: Image;
  layer: Layer;
  cpu: number;
  /** One of the memory classes. */
  memMb: number;
}

/** How the next life of a guest begins (contract/control-channel/link.ts). */
export interface LifeStart {
  /** The sync word that its agent waits for. */
  word: Uint8Array;
  /** How many lives it has had. */
  generation: number;
}

/** A machine that was booted once and frozen: clones start from it. */
export interface Template {
  key: string;
  /** Tells it from another one that was made for the same key. */
  digest: string;
  folder: string;
  spec: MachineSpec;
  life: LifeStart;
  /** Somebody's memory is in it: it was made of a machine that had an owner. */
  isOwn: boolean;
  /** What records call it that differ from it, where it was fetched from another host. */
  origin?: { key: string; digest: string };
}

/** The two ports of the guest: small frames that are answered first, and everything large. */
export type GuestPort = "control" | "bulk";

/** What a machine has used so far. */
export interface Usage {
  cpuMs: number;
  residentBytes: number;
}

/** How memory is saved: what differs from a template, or all of it as one stream. */
export type SaveMode = "delta" | "stream";

/** What of a machine was written into a folder. */
export interface Saved {
  mode: SaveMode;
  /** Pages of 4 KiB that differ from the template; 0 of a stream. */
  pages: number;
}

/** Where a machine stopped, to go on from: any number of times, for nothing of it is written again. */
export interface Rest {
  spec: MachineSpec;
  mode: SaveMode;
  /** Holds devices and pages, or the stream. */
  folder: string;
  /** What the pages differ from. Null of a stream. */
  template: Template | null;
  /** The layers of its disk over its template or image, the newest first. At least one. */
  layers: string[];
  diskGb: number;
  /** What is plugged in; one without a file is a throw-away that holds nothing. */
  volumes: MountedVolume[];
}

/** A part of a volume, in bytes. */
export interface Extent {
  start: number;
  length: number;
}

/** A running or stopped machine. */
export interface Machine {
  readonly name: string;
  readonly spec: MachineSpec;
  /** What its memory lies over; null when all of it is its own. */
  readonly template: Template | null;
  /** The layers of its disk over its template or image, the newest first: that one it writes. */
  readonly layers: string[];
  readonly diskGb: number;
  /** What is plugged in besides its disk. */
  readonly volumes: readonly MountedVolume[];
  /** Resolves with its last words when its process has ended, whoever ended it. */
  readonly exited: Promise<string>;
  /** The host's end of a port. One for the life of the machine. */
  openStream(port: GuestPort): Duplex;
  /** Freezes its processors. */
  stop(): Promise<void>;
  cont(): Promise<void>;
  /** Plugs the network cable in or out; a guest cannot undo it. */
  setNetwork(isOn: boolean): Promise<void>;
  /** Lets the disk grow; the guest grows its file system. */
  growDisk(sizeGb: number): Promise<void>;
  /** Plugs a volume in: the guest finds it by its serial. It belongs to the machine's user from now on. */
  plug(volume: MountedVolume): Promise<void>;
  /** Takes it out; the guest has let go of it before. */
  unplug(slot: number): Promise<void>;
  /**
   * What of a volume was written since this was asked last, in whole blocks. Null while that is not known: the first time of a
   * machine, and after it has failed. Whatever is written from now on is in the next answer.
   */
  written(slot: number): Promise<Extent[] | null>;
  /** Lets all others of the host go first. */
  yield(): Promise<void>;
  usage(): Promise<Usage | null>;
  /** The last that its kernel and its first program printed. */
  console(): Promise<string>;
  /** Whether the layer that it writes stays when it ends, however it ends. */
  keepDisk(isKept: boolean): void;
  /** Ends it in order and leaves its disk. */
  quit(): Promise<void>;
  /** Ends it at once and leaves nothing but the layers under its disk. */
  destroy(): Promise<void>;
}

/** What only some drivers can. What is absent is refused as a missing capability. */
export type Capability = "snapshots" | "volumes.mount" | "desktop" | "isolation.shared";

/** Makes machines. QEMU is the one there is. */
export interface VmDriver {
  readonly name: string;
  readonly capabilities: ReadonlySet<Capability>;
  readonly version: string;
  readonly accelerator: Accelerator;
  /**
   * A machine from its first instruction. Returns when it runs, long before its agent answers. `memoryFile` makes its memory a
   * file, which is what a template is later made of.
   */
  boot(spec: MachineSpec, memoryFile?: string): Promise<Machine>;
  /** Freezes a booted machine, which ends, into a template. */
  freeze(machine: Machine, folder: string): Promise<void>;
  /** A machine that goes on where the template stopped; stopped still. */
  clone(template: Template): Promise<Machine>;
  /** Writes memory and devices of a machine, stopped until then or not, into a folder. It is stopped after. */
  save(machine: Machine, folder: string): Promise<Saved>;
  /** An empty layer over a machine's disk. */
  newLayer(machine: Machine): Promise<string>;
  /** Lets a machine write into it from now on: those below stay as they are. */
  useLayer(machine: Machine, layer: string): Promise<void>;
  /** Writes all into the layer of a machine that runs: the others are no longer its own. */
  unlayer(machine: Machine): Promise<void>;
  /** Writes a layer of a rest into the one below it, which nobody else needs. */
  merge(layer: string): Promise<void>;
  /** Layers of machines that have not ended. */
  layersInUse(): string[];
  /** One layer that says what all layers of a rest say. */
  flatten(rest: Rest): Promise<string>;
  /** Makes of a rest what a template's folder holds. */
  spread(rest: Rest, folder: string): Promise<void>;
  /** Puts layers that came from another host over what lies below them here. */
  settle(rest: Pick<Rest, "spec" | "template" | "layers">): Promise<void>;
  /** The same of a template's folder, which machines may use then. */
  settleTemplate(folder: string, spec: MachineSpec): Promise<void>;
  /** A machine that goes on where another one was saved; stopped still. */
  restore(rest: Rest): Promise<Machine>;
  /** Ends every machine, also those that are on their way, and makes no more. */
  close(): Promise<void>;
}
