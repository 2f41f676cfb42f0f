import * as z from "zod";
import { Isolation } from "../vm/machine.ts";

const count = z.int().nonnegative();

/** A snapshot's name at its host and at the gateway. */
export const SnapshotId = z.string().regex(/^[A-Za-z0-9_-]{1,100}$/);

/** A saved machine's name in the object store of its org: `rec_…`, new with every saving; a snapshot's is its own id. */
export const RecordId = SnapshotId;

/** The object of a stored record that is written last and removed first, and what the gateway reads of it: whose it is. */
export const RECORD_MANIFEST = "manifest.json";
export const RecordManifest = z.object({
  /** `id`: of a saved machine its sandbox's. */
  record: z.object({ id: z.string(), recordId: RecordId }),
});

/** Which record, and whether all of it is in the object store: only then can another host go on from it. */
export const Stored = {
  recordId: RecordId.exactOptional(),
  durable: z.boolean().exactOptional(),
};

/** 200 of POST /vms/:id/pause: RAM and disk are saved, the process is gone, its room is free. */
export const VmPaused = z.object({
  state: z.literal("paused"),
  ...Stored,
  /** What the record takes on the host's disk. */
  sizeBytes: count,
  tookMs: z.number().nonnegative(),
  bootId: z.string(),
  /** The host's seq at the pause: an older heartbeat knows nothing of it. */
  seq: count,
});
export type VmPaused = z.infer<typeof VmPaused>;

/** 200 of POST /vms/:id/checkpoint: a running machine goes on from here if its host dies. It stood still for `stoppedMs`. */
export const VmCheckpointed = z.object({
  sizeBytes: count,
  stoppedMs: z.number().nonnegative(),
  ...Stored,
  bootId: z.string(),
  seq: count,
});
export type VmCheckpointed = z.infer<typeof VmCheckpointed>;

/**
 * POST /vms/:id/resume. With a `recordId` exactly that record goes on: fetched from the object store where the host does not
 * have it, as by a host that never had this machine. Without one, what the host has.
 */
export const ResumeVm = z.object({ recordId: RecordId.exactOptional() });
export type ResumeVm = z.infer<typeof ResumeVm>;

/** 200 of POST /vms/:id/resume and /revert: it runs, knows the time and has fresh entropy. */
export const VmResumed = z.object({
  state: z.literal("running"),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  isolation: Isolation,
  tookMs: z.number().nonnegative(),
  bootId: z.string(),
  seq: count,
});
export type VmResumed = z.infer<typeof VmResumed>;

/** 200 of POST /vms/:id/park: its processors stand still until the next request. No state of its own. */
export const VmParked = z.object({ state: z.literal("running"), parked: z.literal(true) });
export type VmParked = z.infer<typeof VmParked>;

/** POST /vms/:id/snapshot: of a running or a paused machine. Idempotent by the id. */
export const TakeSnapshot = z.object({ snapshotId: SnapshotId });
export type TakeSnapshot = z.infer<typeof TakeSnapshot>;

/** What a record can go on under: another platform refuses it before it tries. */
export const SnapshotPlatform = z.object({
  driver: z.string(),
  /** `kvm`, `hvf` or `tcg`. */
  accelerator: z.string(),
  qemu: z.string(),
  machine: z.string(),
  /** The processor's model, with the host's own flags where the guest sees them. */
  cpu: z.string(),
  kernel: z.string(),
  /** Names image and kernel by what is in them. */
  image: z.string(),
  /** The template under its memory, by key and content; null when it holds all of its memory. */
  template: z.object({ key: z.string(), digest: z.string() }).nullable(),
});
export type SnapshotPlatform = z.infer<typeof SnapshotPlatform>;

/** What a host lets machines run on: a record of another platform cannot go on there. */
export const HostPlatform = SnapshotPlatform.pick({
  driver: true,
  accelerator: true,
  qemu: true,
  machine: true,
  cpu: true,
});
export type HostPlatform = z.infer<typeof HostPlatform>;

/** 201 of POST /vms/:id/snapshot. */
export const SnapshotTaken = z.object({
  snapshotId: SnapshotId,
  /** It is in the object store. A heartbeat tells when it gets there (`durableSnapshots`). */
  durable: Stored.durable,
  sizeBytes: count,
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  platform: SnapshotPlatform,
  /** How long the guest stood still; 0 when it was paused. */
  stoppedMs: z.number().nonnegative(),
});
export type SnapshotTaken = z.infer<typeof SnapshotTaken>;

/** POST /vms/:id/revert: the machine becomes what it was at that snapshot of its own. */
export const RevertVm = z.object({ snapshotId: SnapshotId });
export type RevertVm = z.infer<typeof RevertVm>;

/**
 * Why a state was not changed. `NotRunning` and `NotPaused` (409): it is in another one. `SnapshotNotRestorable` (409):
 * never on this host. `SnapshotFailed` (503): the machine goes on as before. `NoCapacity`, `InsufficientCapacity` (503,
 * 507): a resume finds no room; the record stays.
 */
export const StateRefused = z.object({
  error: z.string(),
  code: z.enum([
    "HostCapabilityMissing",
    "InsufficientCapacity",
    "NoCapacity",
    "NotPaused",
    "NotRunning",
    "ResumeFailed",
    "SnapshotFailed",
    "SnapshotNotRestorable",
    "UnknownSnapshot",
  ]),
  retryable: z.boolean(),
});
export type StateRefused = z.infer<typeof StateRefused>;
