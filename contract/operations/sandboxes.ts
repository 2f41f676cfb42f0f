import { LIMITS } from "../limits.ts";
import { CreateSandbox } from "../vm/create.ts";
import { Exec, ExecResult } from "../vm/exec.ts";
import { VmMetrics } from "../vm/metrics.ts";
import {
  Deleted,
  SandboxCreated,
  SandboxList,
  SandboxPaused,
  SandboxRecord,
  SandboxResumed,
  SetTimeout,
  TimeoutSet,
} from "../vm/sandbox.ts";
import type { Operation } from "./operation.ts";

/** Codes of a refused resume, also of a request that resumes by itself (`autoResume`). */
export const RESUME_REFUSALS = [
  "NotEntitled",
  "InsufficientCredit",
  "PlanLimitExceeded",
  "ConcurrencyLimitExceeded",
  "SnapshotNotRestorable",
  "InsufficientCapacity",
  "NoCapacity",
  "HostRejected",
] as const;

const common = { auth: "key", bodyBytes: LIMITS.vmRequestBodyBytes } as const;

/** Document 2, Endpoints. An id of another org or of no sandbox is `NotFound`. */
export const SANDBOXES = {
  createSandbox: {
    ...common,
    method: "POST",
    path: "/sandboxes",
    summary:
      "Create a sandbox: a microVM of its own. The answer says what the machine got: a disk is at least as large as its image (4 GiB for built-in templates), also when `diskGb` is less, and a machine of a snapshot or custom template keeps that disk.",
    idempotent: true,
    request: CreateSandbox,
    example: { template: "base" },
    success: { status: 201, body: SandboxCreated },
    errors: [
      "InvalidJson",
      "ValidationError",
      "RecordingRequiresDesktop",
      "RecordingRequiresGoldenBoot",
      "InvalidIdempotencyKey",
      "IdempotencyKeyReused",
      "NotEntitled",
      "FeatureRequiresPlan",
      "InsufficientCredit",
      "NotFound",
      "TemplateKindMismatch",
      "TemplateNotReady",
      "SnapshotNotReady",
      "SnapshotNotRestorable",
      "ControlPlaneUnavailable",
      "NotConfigured",
      "PlanLimitExceeded",
      "ConcurrencyLimitExceeded",
      "AdmissionUnavailable",
      "VolumeAlreadyAttached",
      "VolumeStatusUnknown",
      "HostCapabilityMissing",
      "InsufficientCapacity",
      "NoCapacity",
      "HostRejected",
      "ObjectUnavailable",
    ],
  },
  listSandboxes: {
    ...common,
    method: "GET",
    path: "/sandboxes",
    summary: "List the sandboxes of the org, newest first.",
    success: { status: 200, body: SandboxList },
    errors: ["ObjectUnavailable"],
  },
  getSandbox: {
    ...common,
    method: "GET",
    path: "/sandboxes/:id",
    summary: "Read a sandbox. It counts as activity.",
    success: { status: 200, body: SandboxRecord },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  deleteSandbox: {
    ...common,
    method: "DELETE",
    path: "/sandboxes/:id",
    summary: "Destroy a sandbox. Repeating it is fine.",
    success: { status: 200, body: Deleted },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  setSandboxTimeout: {
    ...common,
    method: "POST",
    path: "/sandboxes/:id/timeout",
    summary: "Change the idle window of a sandbox, from now.",
    request: SetTimeout,
    example: { timeoutMs: 600_000 },
    success: { status: 200, body: TimeoutSet },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  pauseSandbox: {
    ...common,
    method: "POST",
    path: "/sandboxes/:id/pause",
    summary: "Save RAM and disk of a sandbox and free its place. Repeating it is fine.",
    success: { status: 200, body: SandboxPaused },
    errors: [
      "NotFound",
      "NotRunning",
      "HostCapabilityMissing",
      "HostRejected",
      "HostUnreachable",
      "ObjectUnavailable",
    ],
  },
  resumeSandbox: {
    ...common,
    method: "POST",
    path: "/sandboxes/:id/resume",
    summary: "Resume a paused sandbox.",
    success: { status: 200, body: SandboxResumed },
    errors: ["NotFound", "NotPaused", ...RESUME_REFUSALS, "ObjectUnavailable"],
  },
  execInSandbox: {
    ...common,
    method: "POST",
    path: "/sandboxes/:id/exec",
    summary:
      "Run one command to its end. No shell reads it. `stdout` and `stderr` are two pipes without an order between them: run a shell with `2>&1` for one text in true order. `notUtf8` names the streams whose bytes were not UTF-8, `truncated` says that output beyond 8 MiB was dropped.",
    request: Exec,
    example: { cmd: "python3", args: ["-c", "print(6*7)"] },
    success: { status: 200, body: ExecResult },
    errors: [
      "InvalidJson",
      "ValidationError",
      "NotFound",
      "NotRunning",
      ...RESUME_REFUSALS,
      "HostUnreachable",
      "ObjectUnavailable",
    ],
  },
  sandboxMetrics: {
    ...common,
    method: "GET",
    path: "/sandboxes/:id/metrics",
    summary: "Processor, memory and disk of a sandbox.",
    success: { status: 200, body: VmMetrics },
    errors: ["NotFound", "HostUnreachable", "ObjectUnavailable"],
  },
} as const satisfies Record<string, Operation>;
