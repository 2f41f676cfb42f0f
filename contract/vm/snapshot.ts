import * as z from "zod";
import { Labels } from "./create.ts";
import { VmKind } from "./machine.ts";

/** State of a snapshot: `creating` while it is taken; a `failed` one holds nothing and can only be deleted (decision). */
export const SnapshotState = z.enum(["creating", "ready", "failed"]);
export type SnapshotState = z.infer<typeof SnapshotState>;

const nameCharacters = 200;

/** POST /sandboxes/:id/snapshots (decision). Null is the default; a blank name is `snapshot`. */
export const CreateSnapshot = z.object({
  name: z.string().max(nameCharacters).nullish(),
  metadata: Labels.nullish(),
});
export type CreateSnapshot = z.infer<typeof CreateSnapshot>;

/** A snapshot as its owner sees it (decision). Values that are known once it is taken are null until then. */
export const SnapshotRecord = z.object({
  snapshotId: z.string(),
  name: z.string(),
  kind: VmKind,
  state: SnapshotState,
  /** The sandbox it was taken of: only that sandbox can revert to it. */
  sandboxId: z.string(),
  /** The snapshot from which the sandbox was forked, or to which it last went back. */
  parentSnapshotId: z.string().nullable(),
  template: z.string(),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  sizeBytes: z.int().nullable(),
  platform: z.object({ arch: z.string(), machine: z.string() }).nullable(),
  /** Whether the snapshot is in the object store, and so outlives its host. */
  durable: z.boolean(),
  /** How many living sandboxes descend from it. */
  children: z.int(),
  metadata: z.record(z.string(), z.string()),
  createdAt: z.iso.datetime(),
});
export type SnapshotRecord = z.infer<typeof SnapshotRecord>;

/** 200 of GET /snapshots, newest first. `nextCursor` is present when another page exists. */
export const SnapshotList = z.object({
  snapshots: z.array(SnapshotRecord),
  nextCursor: z.string().exactOptional(),
});
export type SnapshotList = z.infer<typeof SnapshotList>;

/** POST /sandboxes/:id/revert (decision). */
export const RevertSandbox = z.object({ snapshotId: z.string().min(1).max(nameCharacters) });
export type RevertSandbox = z.infer<typeof RevertSandbox>;
