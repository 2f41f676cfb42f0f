import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { Enforcement, Envs, Isolation, Resolution, VmKind, VmSize } from "../vm/machine.ts";
import { VolumeMount } from "./volumes.ts";
import { HostPlatform, SnapshotId, Stored } from "./vm-states.ts";

const count = z.int().nonnegative();
const text = z.string().max(500);

/** The source of a machine. */
export const VmSource = z.discriminatedUnion("type", [
  /** A built-in image, fresh. */
  z.object({ type: z.literal("image"), name: z.string().max(100) }),
  /** A snapshot or a template of the org, by its id; a host that lacks the record fetches it. */
  z.object({ type: z.literal("snapshot"), id: z.string().max(100), recordPath: z.string() }),
]);
export type VmSource = z.infer<typeof VmSource>;

/** PUT /vms/:sandboxId: the create request, resolved. Idempotent by the id. A host refuses what it cannot do. */
export const PlaceVm = z.object({
  kind: VmKind,
  source: VmSource,
  isolation: Isolation,
  ...VmSize,
  envs: Envs,
  volumes: z.array(VolumeMount).max(LIMITS.volumesMounted).exactOptional(),
  /** Desktops: `1280x720`. Absent of one that begins from a snapshot: it has the screen of its origin. */
  resolution: Resolution.exactOptional(),
  record: z.boolean().exactOptional(),
});
export type PlaceVm = z.infer<typeof PlaceVm>;

/** 201 of PUT /vms/:sandboxId: the machine that was placed. */
export const VmPlaced = z.object({
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  isolation: Isolation,
  enforcement: Enforcement,
  /** The size of a desktop's screen. */
  resolution: Resolution.exactOptional(),
  /** How the machine began: a warm clone, a clone made now, a boot because no golden machine was there, or a snapshot. */
  how: z.enum(["warm", "clone", "boot", "fork"]),
  acquiredMs: z.number().nonnegative(),
  bootId: z.string(),
  /** The sequence number of the host at the placement: an older heartbeat knows nothing of the machine. */
  seq: count,
});
export type VmPlaced = z.infer<typeof VmPlaced>;

/**
 * Why a host refuses a machine: 409 never here, 503 not now, 507 not in this size. `TemplateNotReady` (409): an image that
 * is built on first use is being built, or could not be. `VolumeBusy` (503): another machine of this host has the volume,
 * or its last state lies with another host, or that is unknown. `VolumePathTaken` (409): something that is no folder lies
 * at the mount path.
 */
export const VmRefused = z.object({
  error: z.string(),
  code: z.enum([
    "HostCapabilityMissing",
    "InsufficientCapacity",
    "NoCapacity",
    "NotRunning",
    "SnapshotNotRestorable",
    "TemplateNotReady",
    "UnknownSnapshot",
    "VolumeBusy",
    "VolumePathTaken",
  ]),
  hint: z.string().exactOptional(),
  missingCapabilities: z.array(z.string()).exactOptional(),
  /** Percent of the image that is built. */
  percent: z.number().exactOptional(),
});
export type VmRefused = z.infer<typeof VmRefused>;

/** A machine on a host, as the host sees it. */
export const VmReport = z.object({
  id: z.string(),
  /** A paused machine outlives the process of its host: the first heartbeat of the next process reports it. */
  state: z.enum(["starting", "running", "paused"]),
  /** The record of a paused machine, or the last checkpoint of a running one. */
  ...Stored,
  /** Size of that record on the disk of the host. */
  sizeBytes: count.exactOptional(),
  /** When that checkpoint was taken, in milliseconds since the epoch. */
  checkpointAt: z.number().exactOptional(),
  /** Set when the machine ended without being told to; repeated until the gateway has answered. */
  ended: z.enum(["machine_died"]).exactOptional(),
  /** The machine's processors stand still until the next use. */
  parked: z.literal(true).exactOptional(),
  /** The last use, in milliseconds since the epoch by the host's own clock: to be compared with `sentAt` alone. */
  lastActivityAt: z.number(),
});
export type VmReport = z.infer<typeof VmReport>;

/** An image of a host: `missing` when nobody builds it, with the reason. `onUse`: the first create with it has it built. */
export const ImageReport = z.object({
  name: text,
  state: z.enum(["missing", "building", "ready"]),
  percent: z.number().exactOptional(),
  step: text.exactOptional(),
  hint: text.exactOptional(),
  onUse: z.literal(true).exactOptional(),
});
export type ImageReport = z.infer<typeof ImageReport>;

/** The heartbeat of a VM host: at its start, every 5 s, and at once on any change. */
export const VmHeartbeat = z.object({
  type: z.literal("vm"),
  /** New at every start of the host: machines placed under another boot id are lost. */
  bootId: z.string().min(8).max(64),
  /** Grows by one with every heartbeat and every placement. */
  seq: count,
  /** When it was said, by the host's own clock, which no change of the wall clock moves. */
  sentAt: z.number(),
  /** Where the gateway reaches this host. */
  url: z.url({ protocol: /^https?$/ }),
  versions: z.object({ qemu: text, kernel: text.exactOptional() }),
  /** How machines run, why not faster, and how long the trial boot took. Absent before the trial boot. */
  accel: z
    .object({ name: z.enum(["kvm", "hvf", "tcg"]), reason: text, bootMs: count })
    .exactOptional(),
  /** Only records of this platform can go on here. Absent before the trial boot. */
  platform: HostPlatform.exactOptional(),
  /** Abilities that only some hosts have. Requests that need a missing one are refused. */
  capabilities: z.array(text).max(50),
  /** A user of its own per machine, or the host's own user. */
  isolation: z.enum(["uid", "none"]),
  /** Outbound traffic is filtered by rules, or there is none at all. */
  egress: z.enum(["filtered", "off"]),
  /** What is weaker here than it could be, a sentence each. */
  weaknesses: z.array(text).max(20),
  /** Private addresses that machines may reach, as `host:port`: SVC_EGRESS_ALLOW. */
  egressAllow: z.array(text).max(100),
  /** How many warm machines wait for an owner. */
  warm: count,
  free: z.object({ cpu: count, memMb: count, diskGb: count, slots: count }),
  images: z.array(ImageReport).max(50),
  /** Why the host can serve nothing at all, with the fix. */
  hint: text.exactOptional(),
  draining: z.boolean().exactOptional(),
  vms: z.array(VmReport).max(1000),
  /** Templates of customers whose records are on this host. */
  templates: z.array(z.string().max(100)).max(1000).exactOptional(),
  /** Snapshots that have reached the object store, each until a heartbeat with it was answered. */
  durableSnapshots: z.array(SnapshotId).max(200).exactOptional(),
});
export type VmHeartbeat = z.infer<typeof VmHeartbeat>;
