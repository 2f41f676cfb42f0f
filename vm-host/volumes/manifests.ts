import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import type { Door } from "./chunks.ts";

const objectOf = (volume: string) =>
  ({ purpose: "volume", volume, file: "manifest.json" }) as const;

/** What the store says of a volume, and what the next manifest takes the place of. */
export interface StoredManifest extends VolumeManifest {
  etag: string;
}

/** Null when the store has nothing of it. */
export async function fetchManifest(
  store: Door,
  volume: string,
  folder: string,
): Promise<StoredManifest | null> {
  const draft = join(folder, "stored.json");
  try {
    const found = await store().fetch(objectOf(volume), draft);
    if (!found) return null;
    return { ...VolumeManifest.parse(JSON.parse(await readFile(draft, "utf8"))), ...found };
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * All that it names must be in the store before. Fails when another host has stored one since `before` was fetched: each is
 * made of what the one before says.
 */
export const storeManifest = (
  store: Door,
  volume: string,
  file: string,
  before: StoredManifest | null,
): Promise<void> => store().upload(objectOf(volume), file, before?.etag ?? null);
