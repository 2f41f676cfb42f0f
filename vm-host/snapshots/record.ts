import { randomBytes } from "node:crypto";
import { RecordId, SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { openMap } from "@svc/contract/open-map.ts";
import { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import { Isolation } from "@svc/contract/vm/machine.ts";
import * as z from "zod";
import type { LifeStart } from "../driver.ts";
import { Manifest } from "../images/store.ts";
import { MountedVolume } from "../volumes/mounted.ts";

/** Counts up when a record of before can no longer be read. */
export const RECORD_VERSION = 1;
/** The file that makes a folder a record; it lies there last. */
export const RECORD_FILE = "record.json";

const count = z.int().nonnegative();

/** The name of a machine that was saved just now. */
export const newRecordId = (): string => `rec_${randomBytes(12).toString("hex")}`;

const Self = z.object({
  bootId: z.string(),
  hostname: z.string(),
  machineId: z.string(),
  envs: openMap(z.string(), z.string()),
  hasNetwork: z.boolean(),
  cwd: z.string().exactOptional(),
  user: z.string().exactOptional(),
});
/** How the next life of an agent begins; secret. */
const Life = z.object({ word: z.string(), generation: z.int() });

/** A share that stands still in its machine's record. */
export const RestingShare = z.object({
  /** The sandbox's id. */
  id: z.string().min(1),
  share: ShareSpec,
  self: Self,
  life: Life,
  lastActivityAt: z.number(),
  /** It went on after this was saved: what a crash leaves of it. */
  isCheckpoint: z.literal(true).exactOptional(),
});
export type RestingShare = z.infer<typeof RestingShare>;

/** What a machine of shares is, beside a machine. */
export const RestingHome = z.object({
  org: z.string(),
  ground: z.string(),
  shares: z.array(RestingShare),
});
export type RestingHome = z.infer<typeof RestingHome>;

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
   * Of a machine that holds shares: those of them that rest.
   */
  kind: z.enum(["paused", "checkpoint", "snapshot", "copy", "layer", "shared"]),
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
  life: Life,
  /** Who it was. A resume stays that. */
  self: Self,
  /** Volumes it has mounted: a resume has them again, and nobody else ever by its memory of them. */
  volumes: z.array(MountedVolume).default([]),
  /** Of a machine of shares: those that rest in it. */
  home: RestingHome.exactOptional(),
  lastActivityAt: z.number(),
});
export type SnapshotRecord = z.infer<typeof SnapshotRecord>;

/** How the agent in a record begins its next life. */
export function lifeOf({ life: { word, generation } }: Pick<SnapshotRecord, "life">): LifeStart {
  return { word: Buffer.from(word, "hex"), generation };
}

/** Why a record cannot go on here, now or ever: found before anything is tried. */
export class NotRestorable extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "SnapshotNotRestorable";
  }
}

/** A snapshot's own id; of other records a new one with every saving. */
export const recordIdOf = ({ kind, id }: Pick<SnapshotRecord, "kind" | "id">): string =>
  kind === "snapshot" ? id : newRecordId();
