import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";

/** A template fits one memory size: what is asked for is rounded up to one of these. */
const MEMORY_CLASSES_MB = [512, 1024, 2048, 4096, 8192, 16_384];

/** The smallest class that holds this much. */
export function memoryClass(memMb: number): number {
  return MEMORY_CLASSES_MB.find((size) => size >= memMb) ?? memMb;
}

/** What machines take of a host. */
export interface Room {
  cpu: number;
  memMb: number;
  slots: number;
}

/** Counts what is given out. Memory is given once; processors are shared in time. */
export class Capacity {
  readonly #whole: Room;
  #used: Room = { cpu: 0, memMb: 0, slots: 0 };

  constructor(whole: Room) {
    this.#whole = whole;
  }

  get free(): Room {
    return {
      cpu: Math.max(0, this.#whole.cpu - this.#used.cpu),
      memMb: Math.max(0, this.#whole.memMb - this.#used.memMb),
      slots: Math.max(0, this.#whole.slots - this.#used.slots),
    };
  }

  /** Takes room, and returns what gives it back; or the name of what there is too little of. */
  take({ cpu, memMb }: Pick<PlaceVm, "cpu" | "memMb">): (() => void) | "size" | "slots" {
    const { free } = this;
    if (free.slots < 1) return "slots";
    if (free.cpu < cpu || free.memMb < memMb) return "size";
    return this.force({ cpu, memMb });
  }

  /** Takes room whether it is there or not, for what is about to end another one. */
  force({ cpu, memMb }: Pick<PlaceVm, "cpu" | "memMb">): () => void {
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
