import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { VolumeId } from "@svc/contract/vm/volume.ts";
import * as z from "zod";

/** A volume in a machine. */
export const MountedVolume = z.object({
  volumeId: VolumeId,
  path: z.string(),
  /** How often it had been given to a machine when it was mounted. */
  epoch: z.int(),
  /** The place on the machine's bus, from 0. */
  slot: z.int().nonnegative(),
  /** What the guest knows its disk by. */
  serial: z.string(),
  sizeBytes: z.int().positive(),
  /** Its image; null of a throw-away, which stands where a saved machine remembers a volume that it may not have. */
  file: z.string().nullable(),
  /** The image's change time when its machine was saved: a memory fits no other state of it. */
  changedAt: z.string().exactOptional(),
});
export type MountedVolume = z.infer<typeof MountedVolume>;

/** The images of volumes; a throw-away has none. */
export const filesOf = (volumes: readonly MountedVolume[] = []): string[] =>
  volumes.flatMap(({ file }) => file ?? []);

/** As long as a disk's serial may be. It says nothing of the volume: process lists are public. */
export const serialOf = (volumeId: string): string =>
  createHash("sha256").update(volumeId).digest("hex").slice(0, 20);

/** When an image was last written. */
export async function changedAt(image: string): Promise<string> {
  return String((await stat(image, { bigint: true })).mtimeNs);
}

/** A folder is mounted before the folders in it. */
export const shallowFirst = <Item extends { path: string }>(items: readonly Item[]): Item[] =>
  items.toSorted((left, right) => left.path.length - right.path.length);
