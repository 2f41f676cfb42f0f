import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { StateError } from "./state-error.ts";

/** A golden machine fits one memory size: what is asked for is rounded up to one of these. */
const MEMORY_CLASSES_MB = [512, 1024, 2048, 4096, 8192, 16_384];

/** The smallest class that holds this much. */
export function memoryClass(memMb: number): number {
  return MEMORY_CLASSES_MB.find((size) => size >= memMb) ?? memMb;
}

/** What machines take of a host. */
export interface Resources {
  cpu: number;
  memMb: number;
  slots: number;
}

type Size = Pick<PlaceVm, "cpu" | "memMb">;

/** Counts what is given out. Memory is given once; processors are shared in time. */
export class Capacity {
  readonly #whole: Resources;
  #used: Resources = { cpu: 0, memMb: 0, slots: 0 };

  constructor(whole: Resources) {
    this.#whole = whole;
  }

  get free(): Resources {
    return {
      cpu: Math.max(0, this.#whole.cpu - this.#used.cpu),
      memMb: Math.max(0, this.#whole.memMb - this.#used.memMb),
      slots: Math.max(0, this.#whole.slots - this.#used.slots),
    };
  }

  /** Takes a part, and returns the function that gives the part back; or the name of what there is too little of. */
  take({ cpu, memMb }: Size): (() => void) | "size" | "slots" {
    const { free } = this;
    if (free.slots < 1) return "slots";
    if (free.cpu < cpu || free.memMb < memMb) return "size";
    return this.force({ cpu, memMb });
  }

  /** The same. Throws a `StateError` where there is too little. */
  claim(size: Size): () => void {
    const taken = this.take(size);
    if (taken === "slots")
      throw new StateError(503, "NoCapacity", "Every place on this host is taken.");
    if (taken === "size")
      throw new StateError(507, "InsufficientCapacity", "This size does not fit here right now.");
    return taken;
  }

  /** Takes a part whether it is free or not, for a machine that is about to end another one. */
  force({ cpu, memMb }: Size): () => void {
    this.#add(1, cpu, memMb);
    let isGiven = false;
    return () => {
      if (!isGiven) this.#add(-1, -cpu, -memMb);
      isGiven = true;
    };
  }

  #add(slots: number, cpu: number, memMb: number): void {
    const { cpu: usedCpu, memMb: usedMemMb, slots: usedSlots } = this.#used;
    this.#used = { cpu: usedCpu + cpu, memMb: usedMemMb + memMb, slots: usedSlots + slots };
  }
}
