import type { Duplex } from "node:stream";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { MountedVolume } from "./disk/mounted-volume.ts";
import type { Initrd } from "./images/initrd.ts";
import type { Image } from "./images/store.ts";
import type { LifeStart } from "./life.ts";

/** Files of a saved or golden machine, by what is in them. */
export const FILES = {
  /** A golden machine's disk. */
  disk: "disk.qcow2",
  /** The state of all devices. */
  state: "state",
  /** The pages that differ from the golden machine. */
  pages: "pages",
  /** Memory and devices in one, of a machine without a golden one. */
  stream: "stream",
  /** A golden machine's memory. */
  memory: "mem",
} as const;

/** Empty slots in which volumes are plugged later; a golden machine must have them already. */
export const VOLUME_SLOTS = LIMITS.volumesMounted;

/** Why a record cannot go on here, now or ever: found before anything is tried. */
export class NotRestorable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "SnapshotNotRestorable";
  }
}

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
  initrd: Initrd;
  cpu: number;
  /** One of the memory classes. */
  memMb: number;
}

/** A machine that was booted once and frozen: clones start from it. */
export interface GoldenMachine {
  key: string;
  /** Tells this golden machine from another one that was made for the same key. */
  digest: string;
  folder: string;
  spec: MachineSpec;
  life: LifeStart;
  /** The memory of an org is in it: it was made of a machine that had an owner. */
  isOwn: boolean;
  /** Its name in records, where it was fetched from another host. */
  origin?: { key: string; digest: string };
}

/** The two ports of the guest: small frames that are answered first, and everything large. */
export type GuestPort = "control" | "bulk";

/** What a machine has used so far. */
export interface Usage {
  cpuMs: number;
  residentBytes: number;
}

/** How memory is saved: what differs from a golden machine, or all of it as one stream. */
export type SaveMode = "delta" | "stream";

/** What of a machine was written into a folder. */
export interface Saved {
  mode: SaveMode;
  /** Pages of 4 KiB that differ from the golden machine; 0 of a stream. */
  pages: number;
}

/** A machine that stopped, with all that another one needs to go on from there, any number of times. */
export interface SavedMachine {
  spec: MachineSpec;
  mode: SaveMode;
  /** Holds devices and pages, or the stream. Never written again. */
  folder: string;
  /** The golden machine that the pages differ from. Null of a stream. */
  golden: GoldenMachine | null;
  /** The layers of its disk over its golden machine or image, the newest first. At least one. */
  layers: string[];
  diskGb: number;
  /** The volumes that are plugged in; one without a file is a throw-away that holds nothing. */
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
  /** The golden machine that its memory lies over; null when all of its memory is its own. */
  readonly golden: GoldenMachine | null;
  /** The layers of its disk over its golden machine or image, the newest first. It writes the newest. */
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
  /** Whether the layer that the machine writes stays when the machine ends, however it ends. */
  keepDisk(isKept: boolean): void;
  /** Ends it in order and leaves its disk. */
  quit(): Promise<void>;
  /** Ends it at once and leaves nothing but the layers under its disk. */
  destroy(): Promise<void>;
}

/** What only some drivers can. What is absent is refused as a missing capability. */
export type Capability =
  | "snapshots"
  | "volumes.mount"
  | "desktop"
  | "recording"
  | "isolation.shared";

/** Makes machines. QEMU is the one there is. */
export interface VmDriver {
  readonly capabilities: ReadonlySet<Capability>;
  readonly version: string;
  readonly accelerator: Accelerator;
  /** The platform that records of its machines need. */
  readonly platform: HostPlatform;
  /**
   * A machine from its first instruction. Returns when it runs, long before its agent answers. `memoryFile` makes its memory a
   * file, which is what a golden machine is later made of.
   */
  boot(spec: MachineSpec, memoryFile?: string): Promise<Machine>;
  /** Freezes a booted machine, which ends, into a golden machine. */
  freeze(machine: Machine, folder: string): Promise<void>;
  /** A machine that goes on where the golden machine stopped; stopped still. */
  clone(golden: GoldenMachine): Promise<Machine>;
  /** Writes memory and devices of a machine, stopped until then or not, into a folder. It is stopped after. */
  save(machine: Machine, folder: string): Promise<Saved>;
  /** An empty layer over a machine's disk. */
  newLayer(machine: Machine): Promise<string>;
  /** Lets a machine write into it from now on: those below stay as they are. */
  useLayer(machine: Machine, layer: string): Promise<void>;
  /** Writes all into the layer of a machine that runs: the others are no longer its own. */
  unlayer(machine: Machine): Promise<void>;
  /** Writes a layer of a saved machine into the layer below it, which nobody else needs. */
  merge(layer: string): Promise<void>;
  /** One layer that holds what all layers of a saved machine hold. */
  flatten(saved: SavedMachine): Promise<string>;
  /** Writes the files of a golden machine, made of a saved one, into a folder. */
  spread(saved: SavedMachine, folder: string): Promise<void>;
  /** Puts layers that came from another host over the golden machine or image of this host. */
  settle(saved: Pick<SavedMachine, "spec" | "golden" | "layers">): Promise<void>;
  /** The same for a golden machine's folder; machines may use it from then on. */
  settleGolden(folder: string, spec: MachineSpec): Promise<void>;
  /** A machine that goes on where another one was saved; stopped still. */
  restore(saved: SavedMachine): Promise<Machine>;
  /** Ends every machine, also those that are on their way, and makes no more. */
  close(): Promise<void>;
}
