import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { VolumeId } from "../vm/volume.ts";

const count = z.int().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** A volume that a machine shall have, as its host is told. */
export const VolumeMount = z.object({
  volumeId: VolumeId,
  path: z
    .string()
    .regex(/^\/[^\0]+$/)
    .max(LIMITS.filePathCharacters),
  /** How often it was given to a machine, this time included: a copy of `epoch - 1` is the newest there is. */
  epoch: z.int().positive(),
  /** The host that had it last is away: what it has stored is the newest that can be had. */
  takeOver: z.literal(true).exactOptional(),
});
export type VolumeMount = z.infer<typeof VolumeMount>;

/**
 * `manifest.json` of a volume in the object store. While it is open the host named in it may have newer bytes than
 * these, and no other host may begin from them.
 */
export const VolumeManifest = z.object({
  version: z.literal(1),
  epoch: z.int().positive(),
  hostId: z.string(),
  /** Names the copy of this host that it was made from. */
  copy: z.string(),
  isOpen: z.boolean(),
  sizeBytes: count,
  chunkBytes: z.int().positive(),
  /** SHA-256 of each chunk that is not all zeros, by its number. The object `chunk-<hash>` is its zstd. */
  chunks: z.record(z.string().regex(/^\d{1,7}$/), hash),
  storedAt: z.number(),
});
export type VolumeManifest = z.infer<typeof VolumeManifest>;
