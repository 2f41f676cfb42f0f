import { LIMITS } from "../limits.ts";
import { Deleted, SandboxResumed } from "../vm/sandbox.ts";
import { CreateSnapshot, RevertSandbox, SnapshotList, SnapshotRecord } from "../vm/snapshot.ts";
import type { Operation } from "./operation.ts";
import { RESUME_REFUSALS } from "./sandboxes.ts";

const common = { auth: "key", bodyBytes: LIMITS.vmRequestBodyBytes } as const;

/** Snapshots, revert (decision). A fork is POST /sandboxes with `fromSnapshot`. */
export const SNAPSHOTS = {
  createSnapshot: {
    ...common,
    method: "POST",
    path: "/sandboxes/:id/snapshots",
    summary: "Take a snapshot of a running or paused sandbox. A running sandbox runs on.",
    idempotent: true,
    request: CreateSnapshot,
    example: { name: "ready" },
    success: { status: 201, body: SnapshotRecord },
    errors: [
      "InvalidJson",
      "ValidationError",
      "InvalidIdempotencyKey",
      "IdempotencyKeyReused",
      "NotFound",
      "NotRunning",
      "PlanLimitExceeded",
      "HostCapabilityMissing",
      "HostRejected",
      "HostUnreachable",
      "ControlPlaneUnavailable",
      "ObjectUnavailable",
    ],
  },
  listSnapshots: {
    ...common,
    method: "GET",
    path: "/snapshots",
    summary: "List the snapshots of the org, newest first.",
    query: {
      sandboxId: { description: "Only those of this sandbox." },
      kind: { description: "sandbox or desktop; ignored if it is neither." },
      limit: { description: "Rows of a page, 1 to 100." },
      cursor: { description: "A former page's nextCursor." },
      "metadata.<key>": { description: "Only those with this label. Repeatable." },
    },
    success: { status: 200, body: SnapshotList },
    errors: ["ControlPlaneUnavailable"],
  },
  getSnapshot: {
    ...common,
    method: "GET",
    path: "/snapshots/:id",
    summary: "Read a snapshot.",
    success: { status: 200, body: SnapshotRecord },
    errors: ["NotFound", "ControlPlaneUnavailable"],
  },
  deleteSnapshot: {
    ...common,
    method: "DELETE",
    path: "/snapshots/:id",
    summary: "Delete a snapshot that no live machine descends from.",
    success: { status: 200, body: Deleted },
    errors: ["NotFound", "SnapshotHasChildren", "SnapshotNotReady", "ControlPlaneUnavailable"],
  },
  revertSandbox: {
    ...common,
    method: "POST",
    path: "/sandboxes/:id/revert",
    summary: "Revert a sandbox to one of its own snapshots. A paused sandbox runs afterwards.",
    request: RevertSandbox,
    example: { snapshotId: "snap_…" },
    success: { status: 200, body: SandboxResumed },
    errors: [
      "InvalidJson",
      "ValidationError",
      "NotFound",
      "NotRunning",
      "SnapshotNotReady",
      "HostCapabilityMissing",
      ...RESUME_REFUSALS,
      "HostUnreachable",
      "ControlPlaneUnavailable",
      "ObjectUnavailable",
    ],
  },
} as const satisfies Record<string, Operation>;
