import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import type { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import type { ObjectStore } from "@svc/host-kit/object-store.ts";
import { CHUNK_BYTES, hashOf, writeWhole } from "./reading.ts";

const AT_ONCE = 4;
/** What cannot be packed becomes a little longer. */
const PACKED_MOST_BYTES = 2 * CHUNK_BYTES;
const unpack = promisify(zstdDecompress);

/** A way to the object store, for one object each time. */
export type Door = () => ObjectStore;

const objectOf = (volume: string, hash: string) =>
  ({ purpose: "volume", volume, file: `chunk-${hash}` }) as const;

/** Stores what a scan has packed; `sent` is told of each that the store has. */
export async function storeChunks(
  store: Door,
  volume: string,
  { fresh, folder }: { fresh: string[]; folder: string },
  sent: (hash: string) => void,
): Promise<void> {
  await eachOf(fresh, async (hash) => {
    await store().upload(objectOf(volume, hash), join(folder, hash));
    sent(hash);
    await rm(join(folder, hash), { force: true });
  });
}

/** Removes from the store the chunks of a volume that it no longer needs, by hashes. A chunk that stays only takes space. */
export async function dropChunks(
  store: Door,
  volume: string,
  before: Iterable<string>,
  now: Iterable<string>,
): Promise<void> {
  const needed = new Set(now);
  const old = new Set([...before].filter((hash) => !needed.has(hash)));
  await eachOf([...old], (hash) => store().remove(objectOf(volume, hash)));
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
    await eachOf(Object.entries(chunks), async ([number, hash]) => {
      const bytes = await fetchChunk(store, volume, hash);
      await writeWhole(file, bytes, Number(number) * chunkBytes);
    });
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, image);
}

async function fetchChunk(store: Door, volume: string, hash: string): Promise<Buffer> {
  const packed = await store().read(objectOf(volume, hash), PACKED_MOST_BYTES);
  if (!packed) throw new Error("a part of the volume is not in the store");
  const bytes = await unpack(packed, { maxOutputLength: CHUNK_BYTES });
  if (hashOf(bytes) !== hash) throw new Error("a part of the volume is not what was stored");
  return bytes;
}

/** A few at a time; ends when all that began have ended. */
async function eachOf<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
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
