import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import type { Door } from "./chunks.ts";

const objectOf = (volume: string) =>
  ({ purpose: "volume", volume, file: "manifest.json" }) as const;

/** What the store says of a volume; null when it has nothing of it. */
export async function fetchManifest(
  store: Door,
  volume: string,
  folder: string,
): Promise<VolumeManifest | null> {
  const draft = join(folder, "stored.json");
  try {
    if (!(await store().download(objectOf(volume), draft))) return null;
    return VolumeManifest.parse(JSON.parse(await readFile(draft, "utf8")));
  } finally {
    await rm(draft, { force: true });
  }
}

/** All that it names must be in the store before. */
export const storeManifest = (store: Door, volume: string, file: string): Promise<void> =>
  store().upload(objectOf(volume), file);
