import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Extent } from "../driver.ts";
import { changedAt } from "../disk/mounted-volume.ts";
import {
  CHUNK_BYTES,
  type Packer,
  type Scan,
  hashOf,
  isZero,
  numbersOf,
  readChunks,
  usedChunks,
  writeWhole,
} from "./reading.ts";

/** So many chunks are copied within a moment: for fewer no writer need be spared the wait. */
const FEW = 32;
/** What is written faster than it can be read is not waited for. */
const ROUNDS = 4;
/** Where ext4 says of itself whether it was unmounted: each thaw writes it. */
const SUPERBLOCK = { start: 1024, end: 2048 };

/** A machine that writes a volume. */
export interface Writer {
  /** Has the guest write out what it holds in memory: the less there is of that when it is frozen, the shorter that takes. */
  flush(): Promise<void>;
  /** Lets the guest's writers wait, with all written out. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** As `Machine.written`. */
  written(): Promise<Extent[] | null>;
}

/** A chunk that was copied while the image stood still: where its copy lies, or null for zeros. */
type Copies = Map<number, number | null>;

/**
 * The image of a volume in a machine that runs. It is read while it is written; then writers wait while that is copied which was
 * written meanwhile. What was read once is read again only after it was written, also when a sync in between has failed.
 */
export class LiveImage {
  readonly #image: string;
  readonly #writer: Writer;
  /** The hash of each chunk when it was read last. A chunk without a hash was zeros. */
  readonly #chunks = new Map<number, string>();
  /** Numbers of chunks that may have changed since. */
  readonly #stale = new Set<number>();
  /** Nothing was written that is not among the stale or told by the next answer of the writer. */
  #isKnown = false;
  /** The change time of the last scan; none while another one goes on, or has failed. */
  #scannedAt: string | null = null;
  /** The first chunk without the superblock, as it was read last. */
  #first = "";
  /** A change time since which it was seen to be what the last scan says. */
  #idleAt = "";

  constructor(image: string, writer: Writer) {
    this.#image = image;
    this.#writer = writer;
  }

  /** What it is made of at one moment in which nobody writes it. Throws when there was none: another try goes on from here. */
  async scan(packer: Packer, signal: AbortSignal): Promise<Scan> {
    this.#scannedAt = null;
    await this.#writer.flush();
    await this.#look();
    // Read once, but the try that was to store it has failed.
    for (const [number, hash] of this.#chunks) if (!packer.known.has(hash)) this.#stale.add(number);
    for (let round = 0; this.#stale.size > FEW && round < ROUNDS; round += 1) {
      await readChunks(this.#image, this.#stale, this.#takerOf(packer), signal);
      await this.#look();
    }
    const spool = join(packer.folder, "spool");
    const { copies, at } = await this.#still(spool, signal);
    await this.#takeCopies(copies, spool, packer, signal);
    this.#scannedAt = at;
    return packer.scanOf(Object.fromEntries(this.#chunks), at);
  }

  /**
   * Whether it is what it was at the scan of that change time, as far as anybody could tell who mounts it: a thaw writes the
   * superblock, so its own change time is never that one.
   */
  async isIdleSince(scannedAt: string): Promise<boolean> {
    if (scannedAt !== this.#scannedAt) return false;
    const at = await changedAt(this.#image);
    if (at === this.#idleAt) return true;
    if ((await this.#look()) === null) return false;
    if ([...this.#stale].some((number) => number !== 0)) return false;
    let isSame = true;
    await readChunks(this.#image, this.#stale, async (_, bytes) => {
      isSame = restOfFirst(bytes) === this.#first;
    });
    if (isSame) this.#idleAt = at;
    return isSame;
  }

  /** Learns what was written. How many chunks that is; null when it is all that the image has. */
  async #look(): Promise<number | null> {
    // An answer comes once: nothing may fail between it and what it is put down in.
    const { size } = await stat(this.#image);
    const extents = await this.#writer.written();
    if (extents !== null && this.#isKnown) {
      const numbers = numbersOf(extents, size);
      for (const number of numbers) this.#stale.add(number);
      return numbers.length;
    }
    this.#isKnown = false;
    const numbers = await usedChunks(this.#image);
    this.#chunks.clear();
    this.#stale.clear();
    for (const number of numbers) this.#stale.add(number);
    this.#isKnown = true;
    return null;
  }

  /** Copies what is stale while nobody writes. */
  async #still(spool: string, signal: AbortSignal): Promise<{ copies: Copies; at: string }> {
    try {
      await this.#writer.freeze();
      if ((await this.#look()) === null) throw new Error("it is not known what was written");
      const copies = await this.#copy(spool, signal);
      const at = await changedAt(this.#image);
      // Frozen for too long, thawed by its customer, or written by somebody who knows no file system.
      if ((await this.#look()) !== 0) throw new Error("it was written while it stood still");
      return { copies, at };
    } finally {
      await this.#writer.thaw();
    }
  }

  /** Copies the bytes only: hashing and packing take longer than a writer should wait. */
  async #copy(spool: string, signal: AbortSignal): Promise<Copies> {
    const copies: Copies = new Map();
    await using file = await open(spool, "w", 0o600);
    let end = 0;
    const take = async (number: number, bytes: Buffer): Promise<void> => {
      const place = isZero(bytes) ? null : end;
      if (place !== null) await writeWhole(file, bytes, place * CHUNK_BYTES);
      copies.set(number, place);
      if (place !== null) end += 1;
    };
    await readChunks(this.#image, this.#stale, take, signal);
    return copies;
  }

  async #takeCopies(
    copies: Copies,
    spool: string,
    packer: Packer,
    signal: AbortSignal,
  ): Promise<void> {
    const numbers: number[] = [];
    for (const [number, place] of copies)
      if (place === null) this.#keep(number, null);
      else numbers[place] = number;
    const take = this.#takerOf(packer);
    await readChunks(
      spool,
      numbers.keys(),
      (place, bytes) => take(numbers[place] ?? 0, bytes),
      signal,
    );
  }

  #takerOf(packer: Packer) {
    return async (number: number, bytes: Buffer): Promise<void> => {
      this.#keep(number, await packer.add(bytes));
      if (number === 0) this.#first = restOfFirst(bytes);
    };
  }

  #keep(number: number, hash: string | null): void {
    if (hash === null) this.#chunks.delete(number);
    else this.#chunks.set(number, hash);
    this.#stale.delete(number);
  }
}

function restOfFirst(bytes: Buffer): string {
  const rest = Buffer.from(bytes);
  rest.fill(0, SUPERBLOCK.start, SUPERBLOCK.end);
  return hashOf(rest);
}
