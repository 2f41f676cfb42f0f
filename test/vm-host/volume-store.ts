import { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import type { Objects } from "./objects.ts";

const prefixOf = (volumeId: string): string => `volume/${volumeId}/`;

/** Hashes of what is stored of a volume. */
export const chunksOf = (objects: Objects, volumeId: string): string[] =>
  objects.keys(`${prefixOf(volumeId)}chunk-`).map((key) => key.slice(key.lastIndexOf("-") + 1));

/** A volume's manifest in the store, once it is as wanted. */
export async function manifestOf(
  objects: Objects,
  volumeId: string,
  isWanted: (manifest: VolumeManifest) => boolean = () => true,
): Promise<VolumeManifest> {
  const read = (): VolumeManifest | null => {
    const bytes = objects.stored.get(`${prefixOf(volumeId)}manifest.json`);
    return bytes ? VolumeManifest.parse(JSON.parse(bytes.toString())) : null;
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
