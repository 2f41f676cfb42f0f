import * as z from "zod";
import { Isolation, Resolution } from "../vm/machine.ts";

const count = z.int().nonnegative();

/** The id of a snapshot, the same at host and gateway. */
export const SnapshotId = z.string().regex(/^[A-Za-z0-9_-]{1,100}$/);

/** The name of a record in the object store of its org: `rec_…`, new with every save; the record of a snapshot has its id. */
export const RecordId = SnapshotId;

/** The manifest of a stored record: written last, removed first. */
export const RECORD_MANIFEST = "manifest.json";
/** The part of a manifest that the gateway reads. */
export const RecordManifest = z.object({
  /** `id`: the sandbox, when the record is of a paused machine. */
  record: z.object({ id: z.string(), recordId: RecordId }),
});

/** The record, and whether all of it is in the object store: only then can another host go on from it. */
export const Stored = {
  recordId: RecordId.exactOptional(),
  durable: z.boolean().exactOptional(),
};

/** For how long nobody has used a machine, by its host's own clock. */
const UnusedMs = z.number().nonnegative();

/**
 * POST /vms/:id/pause and /park. With `unusedMs` a machine rests only if nobody has used it for so long: the host counts its
 * use and refuses with `Busy`. Without it the customer has asked, and what is under way in the machine is interrupted.
 */
export const RestVm = z.object({ unusedMs: UnusedMs.exactOptional() });
export type RestVm = z.infer<typeof RestVm>;

/** POST /vms/:id/end: the end of a machine that nobody has used for so long. DELETE is the end that the customer asks for. */
export const EndVm = z.object({ unusedMs: UnusedMs });
export type EndVm = z.infer<typeof EndVm>;

/** 200 of POST /vms/:id/end: the machine is gone. */
export const VmEnded = z.object({ state: z.literal("ended") });
export type VmEnded = z.infer<typeof VmEnded>;

/** 200 of POST /vms/:id/pause: RAM and disk are saved, the process has ended, its capacity is free. */
export const VmPaused = z.object({
  state: z.literal("paused"),
  ...Stored,
  /** Size of the record on the disk of the host. */
  sizeBytes: count,
  tookMs: z.number().nonnegative(),
  bootId: z.string(),
  /** The sequence number of the host at the pause: an older heartbeat knows nothing of the pause. */
  seq: count,
});
export type VmPaused = z.infer<typeof VmPaused>;

/** 200 of POST /vms/:id/checkpoint: the machine goes on from here if its host dies. The machine stood still for `stoppedMs`. */
export const VmCheckpointed = z.object({
  sizeBytes: count,
  stoppedMs: z.number().nonnegative(),
  ...Stored,
  bootId: z.string(),
  seq: count,
});
export type VmCheckpointed = z.infer<typeof VmCheckpointed>;

/**
 * POST /vms/:id/resume. With a `recordId` exactly that record goes on; a host that lacks the record fetches it from the object
 * store. Without a `recordId` the host's own record of the machine goes on.
 */
export const ResumeVm = z.object({ recordId: RecordId.exactOptional() });
export type ResumeVm = z.infer<typeof ResumeVm>;

/** 200 of POST /vms/:id/resume and /revert: the machine runs, knows the time and has fresh entropy. */
export const VmResumed = z.object({
  state: z.literal("running"),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  isolation: Isolation,
  /** The size of a desktop's screen. */
  resolution: Resolution.exactOptional(),
  tookMs: z.number().nonnegative(),
  bootId: z.string(),
  seq: count,
});
export type VmResumed = z.infer<typeof VmResumed>;

/** 200 of POST /vms/:id/park: the processors stand still until the next request. The state of the machine stays `running`. */
export const VmParked = z.object({
  state: z.literal("running"),
  parked: z.literal(true),
  bootId: z.string(),
  /** The sequence number of the host at the park: an older heartbeat knows nothing of the park. */
  seq: count,
});
export type VmParked = z.infer<typeof VmParked>;

/** POST /vms/:id/snapshot: of a running or a paused machine. Idempotent by the id. */
export const TakeSnapshot = z.object({ snapshotId: SnapshotId });
export type TakeSnapshot = z.infer<typeof TakeSnapshot>;

/** The platform of a record: a host with another platform refuses the record. */
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
  /** The golden machine under its memory, by key and content; null when the record holds all of its memory. */
  template: z.object({ key: z.string(), digest: z.string() }).nullable(),
});
export type SnapshotPlatform = z.infer<typeof SnapshotPlatform>;

/** The platform of a host: only records of the same platform can go on there. */
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
  /** Whether the snapshot is in the object store. A heartbeat tells when it gets there (`durableSnapshots`). */
  durable: Stored.durable,
  sizeBytes: count,
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  platform: SnapshotPlatform,
  /** How long the guest stood still, in ms; 0 when it was paused. */
  stoppedMs: z.number().nonnegative(),
});
export type SnapshotTaken = z.infer<typeof SnapshotTaken>;

/** POST /vms/:id/revert: the machine goes back to one of its own snapshots. */
export const RevertVm = z.object({ snapshotId: SnapshotId });
export type RevertVm = z.infer<typeof RevertVm>;

/**
 * Why a state was not changed. `Busy` (409): the machine was in use `unusedMs` ago, and goes on. `NotRunning` and
 * `NotPaused` (409): the machine is in another state. `SnapshotNotRestorable` (409): the record can never go on here.
 * `SnapshotFailed` (503): the machine goes on as before. `NoCapacity` and `InsufficientCapacity` (503, 507): a resume
 * finds no capacity; the record stays.
 */
export const StateRefused = z.object({
  error: z.string(),
  code: z.enum([
    "Busy",
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
  /** With `Busy`: how long ago the machine was last used; 0 while work is in flight. */
  unusedMs: UnusedMs.exactOptional(),
});
export type StateRefused = z.infer<typeof StateRefused>;
