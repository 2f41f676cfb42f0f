import { logOf } from "@svc/contract/log.ts";
import { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { noteVolumeBytes } from "../../../control-plane/volumes.ts";
import { atMost } from "../../../durable-objects/live/deadline.ts";

const log = logOf("src");

const MANIFEST = /^(vol_[0-9a-f]{32})\/manifest\.json$/;

/**
 * Notes the size of a volume whose manifest was just stored. A size that cannot be noted stands against no store: the next
 * manifest of the volume says it again.
 */
export async function noteVolume(env: Env, key: string): Promise<void> {
  const [, volumeId] = MANIFEST.exec(key) ?? [];
  if (volumeId === undefined) return;
  try {
    await atMost(LIMITS.objectCallMs, note(env, { key, volumeId }));
  } catch (error) {
    log.warn("volume_bytes_not_noted", { volumeId, reason: error });
  }
}

async function note(
  { DB, OBJECTS }: Env,
  { key, volumeId }: { key: string; volumeId: string },
): Promise<void> {
  const stored = await OBJECTS.get(key);
  if (!stored) return;
  const { chunks, chunkBytes } = VolumeManifest.parse(await stored.json());
  await noteVolumeBytes(DB, volumeId, Object.keys(chunks).length * chunkBytes);
}
