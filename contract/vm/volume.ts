import { anything } from "../open-map.ts";
import * as z from "zod";

/** `vol_` and 32 hexadecimal characters; also the prefix of its objects (document 2, Volume). */
export const VolumeId = z.string().regex(/^vol_[0-9a-f]{32}$/, "is no volume");

const MOST_NAME = 200;
const MOST_SIZE_MB = 1_048_576;
const MOST_LABEL = 1024;

const loose = <Input>(type: string, description: string) =>
  anything<Input>().optional().meta({ type, description });

/** POST /volumes. Nothing in an object is refused: useless values are dropped (`volumeFields`). */
export const CreateVolume = z.object({
  name: loose<string>("string", "Trimmed, cut at 200 characters; blank is `volume`."),
  sizeMb: loose<number>("integer", "A hint, not enforced; at most 1048576."),
  metadata: loose<Readonly<Record<string, string>>>(
    "object",
    "String labels; other values are dropped.",
  ),
});
export type CreateVolume = z.infer<typeof CreateVolume>;

/** A volume as its org sees it. Unset fields are absent (document 2, Volume). */
export const Volume = z.object({
  volumeId: VolumeId,
  name: z.string(),
  createdAt: z.iso.datetime(),
  sizeMb: z.int().positive().exactOptional(),
  metadata: z.record(z.string(), z.string()).exactOptional(),
});
export type Volume = z.infer<typeof Volume>;

/** 200 of GET /volumes: all volumes of the org, newest first. */
export const VolumeList = z.object({ volumes: z.array(Volume) });
export type VolumeList = z.infer<typeof VolumeList>;

/** 200 of DELETE /volumes/:id. */
export const VolumeDeleted = z.object({ ok: z.literal(true) });
export type VolumeDeleted = z.infer<typeof VolumeDeleted>;

/** The stored fields of a create request. Never refuses. */
export function volumeFields({ name, sizeMb, metadata }: CreateVolume) {
  const labels = labelsOf(metadata);
  const size = sizeOf(sizeMb);
  return { name: nameOf(name), ...(size && { sizeMb: size }), ...(labels && { metadata: labels }) };
}

function nameOf(value: unknown): string {
  const text = typeof value === "string" ? value.trim() : "";
  // A surrogate pair that the cut would part is left out whole. Other halves of pairs cannot be stored.
  const cut = text.slice(0, MOST_NAME).replace(/[\uD800-\uDBFF]$/, "");
  return cut.replace(/\p{Surrogate}/gu, "\uFFFD") || "volume";
}

/** Whole MiB, or null for a value that is no sane size. */
function sizeOf(value: unknown): number | null {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 1) return null;
  return Math.min(Math.floor(value), MOST_SIZE_MB);
}

function labelsOf(value: unknown): Record<string, string> | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const labels = Object.entries(value).filter((entry): entry is [string, string] => isLabel(entry));
  return labels.length > 0 ? Object.fromEntries(labels) : null;
}

const isLabel = ([key, value]: [string, unknown]): boolean =>
  typeof value === "string" && key.length <= MOST_LABEL && value.length <= MOST_LABEL;
