import { randomBytes } from "node:crypto";
import { RecordId, SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { openMap } from "@svc/contract/open-map.ts";
import { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import { Isolation, Resolution, VmKind } from "@svc/contract/vm/machine.ts";
import * as z from "zod";
import { MountedVolume } from "../disk/mounted-volume.ts";
import { Manifest } from "../images/store.ts";
import { StoredLife } from "../life.ts";

/** Counts up when a record of before can no longer be read. */
export const RECORD_VERSION = 1;
/** The file that makes a folder a record; it lies there last. */
export const RECORD_FILE = "record.json";

const count = z.int().nonnegative();

/** The name of a new record. */
export const newRecordId = (): string => `rec_${randomBytes(12).toString("hex")}`;

const Self = z.object({
  /** Records of before there were desktops do not say it. */
  kind: VmKind.default("sandbox"),
  bootId: z.string(),
  hostname: z.string(),
  machineId: z.string(),
  envs: openMap(z.string(), z.string()),
  hasNetwork: z.boolean(),
  cwd: z.string().exactOptional(),
  user: z.string().exactOptional(),
  resolution: Resolution.exactOptional(),
  isRecorded: z.literal(true).exactOptional(),
});

const RecordKind = z.enum(["paused", "checkpoint", "snapshot", "copy", "step", "home"]);
/** The disk has older words for two kinds. */
const KINDS_READ: Record<string, string> = { layer: "step", shared: "home" };
const KINDS_WRITTEN: Record<string, string> = { step: "layer", home: "shared" };

/** A share in the record of its home. */
export const SavedShare = z.object({
  /** The sandbox's id. */
  id: z.string().min(1),
  share: ShareSpec,
  self: Self,
  life: StoredLife,
  lastActivityAt: z.number(),
  /** The share ran on after this was saved: what a crash leaves of it. */
  isCheckpoint: z.literal(true).exactOptional(),
});
export type SavedShare = z.infer<typeof SavedShare>;

/** What the record of a home says besides what every record says. `ground`: the key of image and initrd. */
export const SavedHome = z.object({
  org: z.string(),
  ground: z.string(),
  shares: z.array(SavedShare),
});
export type SavedHome = z.infer<typeof SavedHome>;

/**
 * A stopped machine, as it lies in `record.json`. Beside it: `state` (the devices) and `pages` (what differs from the
 * golden machine, with its index), or `stream` (all of it). The layers of its disk lie in a folder for all records. What the
 * machine was is written once and never again; what the record is used for (kind, layers, durable, forks) may change.
 * The disk calls a golden machine `platform.template`.
 */
export const MachineRecord = z.object({
  version: z.literal(RECORD_VERSION),
  /** Its name in the object store; a snapshot's own id. */
  recordId: RecordId.default(newRecordId),
  /** Whose it is; null of a record that cannot be shipped. */
  org: z.string().nullable().default(null),
  /** Of a paused machine or a checkpoint the sandbox's id; a snapshot's own id; a copy's `recordId`. */
  id: z.string().min(1),
  /**
   * A copy is another host's record, fetched to go on from. A step is the result of a step of a template's build; it never
   * leaves this host.
   */
  kind: z.preprocess(
    (word) => (typeof word === "string" ? (KINDS_READ[word] ?? word) : word),
    RecordKind,
  ),
  /** All of it is in the object store. */
  durable: z.boolean().default(false),
  /** The machine had a checkpoint: a machine that goes on from here has one, too. */
  isCheckpointed: z.boolean().default(false),
  /** How many machines have begun here. */
  forks: count.default(0),
  createdAt: z.number(),
  mode: z.enum(["delta", "stream"]),
  /** Pages that differ from the golden machine. */
  pages: count,
  /** What the record takes on the disk, without golden machine and image. */
  sizeBytes: count,
  platform: SnapshotPlatform,
  image: Manifest,
  /** The hash of the initrd. */
  agent: z.string(),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  isolation: Isolation,
  /** Names of files, the newest first. */
  layers: z.array(z.string().regex(/^[\w-]+\.qcow2$/)).min(1),
  life: StoredLife,
  /** Who it was. A resume stays that. */
  self: Self,
  /** Volumes it has mounted: a resume has them again, and nobody else ever by its memory of them. */
  volumes: z.array(MountedVolume).default([]),
  /** Of a home: its shares. */
  home: SavedHome.exactOptional(),
  lastActivityAt: z.number(),
});
export type MachineRecord = z.infer<typeof MachineRecord>;

/** A record as it is written to the disk. */
export const writtenRecord = (record: MachineRecord): object => ({
  ...record,
  kind: KINDS_WRITTEN[record.kind] ?? record.kind,
});

/** A snapshot's own id; of other records a new one with every saving. */
export const recordIdOf = ({ kind, id }: Pick<MachineRecord, "kind" | "id">): string =>
  kind === "snapshot" ? id : newRecordId();
