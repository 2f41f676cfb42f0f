import { createHash } from "node:crypto";
import { type FileHandle, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import type { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import type { ObjectStore } from "@svc/host-kit/object-store.ts";
import * as z from "zod";
import { run } from "../programs.ts";

export const CHUNK_BYTES = 1024 * 1024;
const AT_ONCE = 4;
const pack = promisify(zstdCompress);
const unpack = promisify(zstdDecompress);

const Extents = z.array(z.object({ start: z.number(), length: z.number(), data: z.boolean() }));

/** A way to the object store, for one object each time. */
export type Door = () => ObjectStore;

export type Chunks = VolumeManifest["chunks"];

/** What an image is made of now, with those chunks that the store has not yet packed into a folder. */
export interface Scan {
  chunks: Chunks;
  /** Hashes of what lies in the folder. */
  fresh: string[];
}

const objectOf = (volume: string, hash: string) =>
  ({ purpose: "volume", volume, file: `chunk-${hash}` }) as const;
const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Reads an image that nobody writes meanwhile. `known` are hashes that the store has. */
export async function scanImage(
  image: string,
  known: ReadonlySet<string>,
  folder: string,
  signal: AbortSignal,
): Promise<Scan> {
  const chunks: Chunks = {};
  const fresh = new Set<string>();
  const numbers = await usedChunks(image);
  const file = await open(image);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (const number of numbers) {
      signal.throwIfAborted();
      const bytes = buffer.subarray(0, Math.min(CHUNK_BYTES, size - number * CHUNK_BYTES));
      await readWhole(file, bytes, number * CHUNK_BYTES);
      if (isZero(bytes)) continue;
      const hash = hashOf(bytes);
      chunks[number] = hash;
      if (known.has(hash) || fresh.has(hash)) continue;
      fresh.add(hash);
      await writeFile(join(folder, hash), await pack(bytes), { mode: 0o600 });
    }
  } finally {
    await file.close();
  }
  return { chunks, fresh: [...fresh] };
}

/** Stores what a scan has packed. */
export async function storeChunks(
  store: Door,
  volume: string,
  fresh: string[],
  folder: string,
): Promise<void> {
  await inTurns(fresh, async (hash) => {
    await store().upload(objectOf(volume, hash), join(folder, hash));
    await rm(join(folder, hash), { force: true });
  });
}

/** Removes from the store what a volume was made of before and is not now. What stays is only room. */
export async function dropChunks(
  store: Door,
  volume: string,
  before: Chunks,
  now: Chunks,
): Promise<void> {
  const kept = new Set(Object.values(now));
  const old = new Set(Object.values(before).filter((hash) => !kept.has(hash)));
  await inTurns([...old], (hash) => store().remove(objectOf(volume, hash)));
}

/** Makes an image of what the store has: whole and as it was stored, or not at all. */
export async function fetchImage(
  store: Door,
  volume: string,
  { chunks, sizeBytes, chunkBytes }: VolumeManifest,
  image: string,
): Promise<void> {
  const draft = `${image}.tmp`;
  await rm(draft, { force: true });
  const file = await open(draft, "wx+", 0o600);
  try {
    await file.truncate(sizeBytes);
    await inTurns(Object.entries(chunks), async ([number, hash]) => {
      const bytes = await fetchChunk(store, volume, hash, `${draft}.${number}`);
      await file.write(bytes, 0, bytes.length, Number(number) * chunkBytes);
    });
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, image);
}

async function fetchChunk(store: Door, volume: string, hash: string, draft: string) {
  try {
    if (!(await store().download(objectOf(volume, hash), draft)))
      throw new Error("a part of the volume is not in the store");
    const bytes = await unpack(await readFile(draft), { maxOutputLength: CHUNK_BYTES });
    if (hashOf(bytes) !== hash) throw new Error("a part of the volume is not what was stored");
    return bytes;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Numbers of the chunks that are not all hole. */
async function usedChunks(image: string): Promise<number[]> {
  // A running machine holds the lock of its image.
  const args = ["map", "--output=json", "-f", "raw", "-U", image];
  const extents = Extents.parse(JSON.parse(await run("qemu-img", args)));
  const numbers = new Set<number>();
  for (const { start, length, data } of extents) {
    if (!data) continue;
    const last = Math.floor((start + length - 1) / CHUNK_BYTES);
    for (let at = Math.floor(start / CHUNK_BYTES); at <= last; at += 1) numbers.add(at);
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

const ZEROS = Buffer.alloc(CHUNK_BYTES);
const isZero = (bytes: Buffer): boolean => bytes.equals(ZEROS.subarray(0, bytes.length));

/** A few at a time; ends when all that began have ended. */
async function inTurns<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      await work(item).catch((error: unknown) => {
        left.length = 0;
        throw error;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
}
