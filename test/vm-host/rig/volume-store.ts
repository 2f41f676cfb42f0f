import { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import { expect } from "vitest";
import type { Objects } from "./objects.ts";

const prefixOf = (volumeId: string): string => `volume/${volumeId}/`;

/** Hashes of what is stored of a volume. */
export const chunksOf = (objects: Objects, volumeId: string): string[] =>
  objects.keys(`${prefixOf(volumeId)}chunk-`).map((key) => key.slice(key.lastIndexOf("-") + 1));

/** What each stored manifest says: a large one takes a while to read, and is looked at with every call of the store. */
const known = new WeakMap<Buffer, VolumeManifest>();

function parsed(bytes: Buffer): VolumeManifest {
  const manifest = known.get(bytes) ?? VolumeManifest.parse(JSON.parse(bytes.toString()));
  known.set(bytes, manifest);
  return manifest;
}

/** A volume's manifest in the store, once it is as wanted. */
export async function manifestOf(
  objects: Objects,
  volumeId: string,
  isWanted: (manifest: VolumeManifest) => boolean = () => true,
): Promise<VolumeManifest> {
  const read = (): VolumeManifest | null => {
    const bytes = objects.stored.get(`${prefixOf(volumeId)}manifest.json`);
    return bytes ? parsed(bytes) : null;
  };
  const found = (): VolumeManifest | null => {
    const manifest = read();
    return manifest && isWanted(manifest) ? manifest : null;
  };
  await objects.until(() => found() !== null);
  const manifest = found();
  if (!manifest) throw new Error("it has changed again");
  return manifest;
}

let made = 0;
const epochs = new Map<string, number>();

/** A volume that nobody had yet. */
export function newVolume(): string {
  made += 1;
  return `vol_${made.toString(16).padStart(8, "0")}${"0".repeat(24)}`;
}

/** A volume as the gateway gives it to a machine: each time it counts one more. */
export function given(volumeId: string, path = "/data", rest: { takeOver?: true } = {}) {
  const epoch = (epochs.get(volumeId) ?? 0) + 1;
  epochs.set(volumeId, epoch);
  return { volumeId, path, epoch, ...rest };
}

export const refusedBy = async (response: Response) =>
  [response.status, await response.json()] as const;
export const busy = (error: RegExp) => [
  503,
  { code: "VolumeBusy", error: expect.stringMatching(error) },
];
