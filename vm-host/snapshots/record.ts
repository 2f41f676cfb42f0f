import { SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { Isolation } from "@svc/contract/vm/machine.ts";
import * as z from "zod";
import { Manifest } from "../images/store.ts";
import { MountedVolume } from "../volumes/mounted.ts";

/** Counts up when a record of before can no longer be read. */
export const RECORD_VERSION = 1;
/** The file that makes a folder a record; it lies there last. */
export const RECORD_FILE = "record.json";

const count = z.int().nonnegative();

/**
 * A machine at rest, as it lies in `record.json`. Beside it: `state` (the devices) and `pages` (what differs from the
 * template, with its index), or `stream` (all of it). The layers of its disk lie in a folder for all records. Written
 * once and never again, but for the list of its layers when those are made fewer.
 */
export const SnapshotRecord = z.object({
  version: z.literal(RECORD_VERSION),
  /** The sandbox's id when it is paused, else the snapshot's own. */
  id: z.string().min(1),
  kind: z.enum(["paused", "snapshot"]),
  createdAt: z.number(),
  mode: z.enum(["delta", "stream"]),
  /** Pages that differ from the template. */
  pages: count,
  /** What all of it takes on the disk, without template and image. */
  sizeBytes: count,
  platform: SnapshotPlatform,
  image: Manifest,
  /** The hash of the agent's layer. */
  agent: z.string(),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  isolation: Isolation,
  /** Names of files, the newest first. */
  layers: z.array(z.string().regex(/^[\w-]+\.qcow2$/)).min(1),
  /** How the next life begins; secret. */
  life: z.object({ word: z.string(), generation: z.int() }),
  /** Who it was. A resume stays that. */
  self: z.object({
    bootId: z.string(),
    hostname: z.string(),
    machineId: z.string(),
    envs: z.record(z.string(), z.string()),
    hasNetwork: z.boolean(),
  }),
  /** Volumes it has mounted: a resume has them again, and nobody else ever by its memory of them. */
  volumes: z.array(MountedVolume).default([]),
  lastActivityAt: z.number(),
});
export type SnapshotRecord = z.infer<typeof SnapshotRecord>;

/** Why a record cannot go on here, now or ever: found before anything is tried. */
export class NotRestorable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "SnapshotNotRestorable";
  }
}
