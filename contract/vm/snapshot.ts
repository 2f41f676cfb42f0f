import * as z from "zod";
import { Labels } from "./create.ts";
import { VmKind } from "./machine.ts";

/** `creating` while it is taken; `failed` ones hold nothing and can only be deleted (decision). */
export const SnapshotState = z.enum(["creating", "ready", "failed"]);
export type SnapshotState = z.infer<typeof SnapshotState>;

const nameCharacters = 200;

/** POST /sandboxes/:id/snapshots (decision). Null is the default; a blank name is `snapshot`. */
export const CreateSnapshot = z.object({
  name: z.string().max(nameCharacters).nullish(),
  metadata: Labels.nullish(),
});
export type CreateSnapshot = z.infer<typeof CreateSnapshot>;

/** A snapshot as its owner sees it (decision). What is known only once it is taken is null until then. */
export const SnapshotRecord = z.object({
  snapshotId: z.string(),
  name: z.string(),
  kind: VmKind,
  state: SnapshotState,
  /** Whose it is: only that machine reverts to it. */
  sandboxId: z.string(),
  /** What its machine had been forked from or was last reverted to. */
  parentSnapshotId: z.string().nullable(),
  template: z.string(),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  sizeBytes: z.int().nullable(),
  platform: z.object({ arch: z.string(), machine: z.string() }).nullable(),
  /** It is in the object store: it outlives its host. */
  durable: z.boolean(),
  /** How many live machines descend from it. */
  children: z.int(),
  metadata: z.record(z.string(), z.string()),
  createdAt: z.iso.datetime(),
});
export type SnapshotRecord = z.infer<typeof SnapshotRecord>;

/** 200 of GET /snapshots, newest first. `nextCursor` is there only when another page exists. */
export const SnapshotList = z.object({
  snapshots: z.array(SnapshotRecord),
  nextCursor: z.string().exactOptional(),
});
export type SnapshotList = z.infer<typeof SnapshotList>;

/** POST /sandboxes/:id/revert (decision). */
export const RevertSandbox = z.object({ snapshotId: z.string().min(1).max(nameCharacters) });
export type RevertSandbox = z.infer<typeof RevertSandbox>;
