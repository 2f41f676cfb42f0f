import type { Socket } from "node:net";
import type { Image } from "./images/store.ts";
import type { Layer } from "./images/layer.ts";

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
  folder: string;
  spec: MachineSpec;
  life: LifeStart;
}

/** The two ports of the guest: small frames that are answered first, and everything large. */
export type GuestPort = "control" | "bulk";

/** What a machine has used so far. */
export interface Usage {
  cpuMs: number;
  residentBytes: number;
}

/** A running or stopped machine. */
export interface Machine {
  readonly name: string;
  readonly spec: MachineSpec;
  /** Resolves with its last words when its process has ended, whoever ended it. */
  readonly exited: Promise<string>;
  /** The host's end of a port. One for the life of the machine. */
  openStream(port: GuestPort): Socket;
  /** Freezes its processors. */
  stop(): Promise<void>;
  cont(): Promise<void>;
  /** Plugs the network cable in or out; a guest cannot undo it. */
  setNetwork(isOn: boolean): Promise<void>;
  /** Lets the disk grow; the guest grows its file system. */
  growDisk(sizeGb: number): Promise<void>;
  usage(): Promise<Usage | null>;
  /** The last that its kernel and its first program printed. */
  console(): Promise<string>;
  /** Ends it at once and leaves nothing. */
  destroy(): Promise<void>;
}

/** What only some drivers can. What is absent is refused as a missing capability. */
export type Capability = "snapshots" | "volumes.mount" | "desktop" | "shared";

/** Makes machines. QEMU is the one there is. */
export interface VmDriver {
  readonly capabilities: ReadonlySet<Capability>;
  readonly version: string;
  readonly accelerator: Accelerator;
  /** A machine from its first instruction. Returns when it runs, long before its agent answers. */
  boot(spec: MachineSpec, memoryFile?: string): Promise<Machine>;
  /** Freezes a booted machine, which ends, into a template. */
  freeze(machine: Machine, folder: string): Promise<void>;
  /** A machine that goes on where the template stopped; stopped still. */
  clone(template: Template): Promise<Machine>;
  /** Ends every machine, also those that are on their way, and makes no more. */
  close(): Promise<void>;
}
