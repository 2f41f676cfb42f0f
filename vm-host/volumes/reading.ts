import { createHash } from "node:crypto";
import { type FileHandle, open, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import type { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import * as z from "zod";
import type { Extent } from "../driver.ts";
import { run } from "../programs.ts";
import { changedAt } from "../disk/mounted-volume.ts";

export const CHUNK_BYTES = 1024 * 1024;
/** So many chunks lie packed at most: an image may be as large as what is left of the disk. */
const PACKED = 64;
const pack = promisify(zstdCompress);

const Extents = z.array(z.object({ start: z.number(), length: z.number(), data: z.boolean() }));

/** The hash of each chunk that is not all zeros, by its number. */
export type Chunks = VolumeManifest["chunks"];

/** What an image is made of, with those chunks that the store has not yet packed into a folder. */
export interface Scan {
  chunks: Chunks;
  /** Hashes of what lies in the folder and is to be stored. */
  fresh: string[];
  /** The image's change time when it was all of this. */
  changedAt: string;
}

export const hashOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** Makes of chunks what the store holds of them, and leaves in a folder what it lacks. */
export class Packer {
  readonly folder: string;
  /** Hashes that the store has. */
  readonly known: Set<string>;
  readonly #send: ((fresh: string[]) => Promise<void>) | undefined;
  readonly #fresh = new Set<string>();

  /** `send` stores these of the folder, of which there is more to come. */
  constructor(folder: string, known: Iterable<string>, send?: (fresh: string[]) => Promise<void>) {
    this.folder = folder;
    this.known = new Set(known);
    this.#send = send;
  }

  /** Its hash; null of zeros. */
  async add(bytes: Buffer): Promise<string | null> {
    if (isZero(bytes)) return null;
    const hash = hashOf(bytes);
    if (this.known.has(hash) || this.#fresh.has(hash)) return hash;
    await writeFile(join(this.folder, hash), await pack(bytes), { mode: 0o600 });
    this.#fresh.add(hash);
    if (this.#send && this.#fresh.size === PACKED) {
      await this.#send([...this.#fresh]);
      for (const sent of this.#fresh) this.known.add(sent);
      this.#fresh.clear();
    }
    return hash;
  }

  /** What was packed and then was written over is not stored. */
  scanOf(chunks: Chunks, at: string): Scan {
    const fresh = [...new Set(Object.values(chunks))].filter((hash) => this.#fresh.has(hash));
    return { chunks, fresh, changedAt: at };
  }
}

/** Reads an image that nobody writes meanwhile. */
export async function readStill(image: string, packer: Packer, signal: AbortSignal): Promise<Scan> {
  const chunks: Chunks = {};
  const at = await changedAt(image);
  const take = async (number: number, bytes: Buffer): Promise<void> => {
    const hash = await packer.add(bytes);
    if (hash !== null) chunks[number] = hash;
  };
  await readChunks(image, await usedChunks(image), take, signal);
  return packer.scanOf(chunks, at);
}

/** Reads some chunks of an image in their order, each into the same memory. */
export async function readChunks(
  image: string,
  numbers: Iterable<number>,
  take: (number: number, bytes: Buffer) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  await using file = await open(image);
  const { size } = await file.stat();
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (const number of [...numbers].toSorted((left, right) => left - right)) {
    signal?.throwIfAborted();
    const bytes = buffer.subarray(0, Math.min(CHUNK_BYTES, size - number * CHUNK_BYTES));
    await readWhole(file, bytes, number * CHUNK_BYTES);
    await take(number, bytes);
  }
}

/** Numbers of the chunks that are not all hole. */
export async function usedChunks(image: string): Promise<number[]> {
  // A running machine holds the lock of its image.
  const args = ["map", "--output=json", "-f", "raw", "-U", image];
  const extents = Extents.parse(JSON.parse(await run("qemu-img", args)));
  return numbersOf(
    extents.filter(({ data }) => data),
    (await stat(image)).size,
  );
}

/** Numbers of the chunks that these have a part of, of an image of so many bytes: who tells of them may tell anything. */
export function numbersOf(extents: Extent[], sizeBytes: number): number[] {
  const numbers = new Set<number>();
  for (const { start, length } of extents) {
    const end = Math.min(start + length, sizeBytes);
    for (let at = Math.floor(start / CHUNK_BYTES); at * CHUNK_BYTES < end; at += 1) numbers.add(at);
  }
  return [...numbers];
}

async function readWhole(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, position + at);
    if (bytesRead === 0) throw new Error("the image ends early");
    at += bytesRead;
  }
}

/** Writes all of it: a disk that fills up takes a part without a word. */
export async function writeWhole(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

const ZEROS = Buffer.alloc(CHUNK_BYTES);
export const isZero = (bytes: Buffer): boolean => bytes.equals(ZEROS.subarray(0, bytes.length));
