import { statfs } from "node:fs/promises";

const CHECK_MS = 5_000;
const GIB = 1024 ** 3;

/** How much of the disk is free where machines have their disks. */
export class FreeDisk {
  #freeGb: number;
  readonly #timer: NodeJS.Timeout;

  private constructor(folder: string, freeGb: number) {
    this.#freeGb = freeGb;
    this.#timer = setInterval(() => void this.#look(folder), CHECK_MS);
  }

  static async open(folder: string): Promise<FreeDisk> {
    return new FreeDisk(folder, await freeGbOf(folder));
  }

  /** Whole GiB. */
  get freeGb(): number {
    return this.#freeGb;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(folder: string): Promise<void> {
    this.#freeGb = await freeGbOf(folder);
  }
}

/** Whole GiB that are free where a folder lies; 0 where that cannot be said. */
export async function freeGbOf(folder: string): Promise<number> {
  const found = await statfs(folder).catch(() => null);
  return found ? Math.floor((found.bavail * found.bsize) / GIB) : 0;
}
