import { randomBytes } from "node:crypto";
import { RecordId, SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { Isolation } from "@svc/contract/vm/machine.ts";
import * as z from "zod";
import { Manifest } from "../images/store.ts";
import { MountedVolume } from "../volumes/mounted.ts";

/** Counts up when a record of before can no longer be read. */
export const RECORD_VERSION = 1;
/** The file that makes a folder a record; it lies there last. */
export const RECORD_FILE = "record.json";

const count = z.int().nonnegative();

/** The name of a machine that was saved just now. */
export const newRecordId = (): string => `rec_${randomBytes(12).toString("hex")}`;

/**
 * A machine at rest, as it lies in `record.json`. Beside it: `state` (the devices) and `pages` (what differs from the
 * template, with its index), or `stream` (all of it). The layers of its disk lie in a folder for all records. What the
 * machine was is written once and never again; what the record is used for (kind, layers, durable, forks) may change.
 */
export const SnapshotRecord = z.object({
  version: z.literal(RECORD_VERSION),
  /** Its name in the object store; a snapshot's own id. */
  recordId: RecordId.default(newRecordId),
  /** Whose it is; null of a record that cannot be shipped. */
  org: z.string().nullable().default(null),
  /** The sandbox's id when it is paused or the checkpoint of one that runs; the snapshot's own; a copy's `recordId`. */
  id: z.string().min(1),
  /**
   * A copy is another host's record, fetched to go on from; it goes without its origin. A layer is what a step of a
   * template's build has made; it never leaves this host.
   */
  kind: z.enum(["paused", "checkpoint", "snapshot", "copy", "layer"]),
  /** All of it is in the object store. */
  durable: z.boolean().default(false),
  /** Its machine had a checkpoint: what goes on from here has one, too. */
  isCheckpointed: z.boolean().default(false),
  /** How many machines have begun here. */
  forks: count.default(0),
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
    cwd: z.string().exactOptional(),
    user: z.string().exactOptional(),
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
