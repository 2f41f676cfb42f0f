import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { VolumeId } from "../vm/volume.ts";

const count = z.int().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** A volume of a machine, in a placement. */
export const VolumeMount = z.object({
  volumeId: VolumeId,
  path: z
    .string()
    .regex(/^\/[^\0]+$/)
    .max(LIMITS.filePathCharacters),
  /** How often the volume was given to a machine, this time included. A copy of `epoch - 1` is the newest copy. */
  epoch: z.int().positive(),
  /** The last host of the volume is away: the copy in the object store is the newest that can be had. */
  takeOver: z.literal(true).exactOptional(),
});
export type VolumeMount = z.infer<typeof VolumeMount>;

/**
 * `manifest.json` of a volume in the object store. While the manifest is open, the host named in it may have newer bytes,
 * and no other host may begin from these.
 */
export const VolumeManifest = z.object({
  version: z.literal(1),
  epoch: z.int().positive(),
  hostId: z.string(),
  /** Names the copy, on that host, from which the manifest was made. */
  copy: z.string(),
  isOpen: z.boolean(),
  sizeBytes: count,
  chunkBytes: z.int().positive(),
  /** SHA-256 of each chunk that is not all zeros, by its number. The object `chunk-<hash>` holds the chunk, packed by zstd. */
  chunks: z.record(z.string().regex(/^\d{1,7}$/), hash),
  storedAt: z.number(),
});
export type VolumeManifest = z.infer<typeof VolumeManifest>;
