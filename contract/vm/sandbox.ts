import * as z from "zod";
import { anything } from "../open-map.ts";
import { Enforcement, Isolation, Resolution, VmKind } from "./machine.ts";

/** States of a sandbox, and values of the list's filter (document 2). */
export const SandboxState = z.enum([
  "starting",
  "running",
  "paused",
  "archived",
  "releasing",
  "gone",
]);
export type SandboxState = z.infer<typeof SandboxState>;

/** Why a sandbox is gone (decision): `host_lost` = its host is back without it. */
export const GoneReason = z.enum(["deleted", "idle", "machine_died", "host_lost"]);
export type GoneReason = z.infer<typeof GoneReason>;

/** 201 of POST /sandboxes: the sandbox that was made. */
export const SandboxCreated = z.object({
  sandboxId: z.string(),
  kind: VmKind,
  controlUrl: z.string(),
  expiresAt: z.iso.datetime(),
  streamUrl: z.string().exactOptional(),
  recordingUrl: z.string().exactOptional(),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  isolation: Isolation,
  enforcement: Enforcement,
});
export type SandboxCreated = z.infer<typeof SandboxCreated>;

/** 200 of GET /sandboxes/:id, and an item of the list. */
export const SandboxRecord = z.object({
  sandboxId: z.string(),
  kind: VmKind,
  state: SandboxState,
  metadata: z.record(z.string(), z.string()),
  template: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  /** Of a desktop: the size of screen that it was made with (decision). */
  resolution: Resolution.exactOptional(),
  /** Present once the sandbox is gone (decision). */
  closeReason: GoneReason.exactOptional(),
});
export type SandboxRecord = z.infer<typeof SandboxRecord>;

/** 200 of GET /sandboxes, newest first. `nextCursor` is present when another page exists. */
export const SandboxList = z.object({
  sandboxes: z.array(SandboxRecord),
  nextCursor: z.string().exactOptional(),
});
export type SandboxList = z.infer<typeof SandboxList>;

/** POST /sandboxes/:id/timeout. A value that is no idle window means the default. */
export const SetTimeout = z.object({
  timeoutMs: anything<number>()
    .optional()
    .meta({ type: "integer", description: "The idle window." }),
});

/** 200 of POST /sandboxes/:id/timeout. */
export const TimeoutSet = z.object({ expiresAt: z.iso.datetime() });
export type TimeoutSet = z.infer<typeof TimeoutSet>;

/** 200 of DELETE /sandboxes/:id. */
export const Deleted = z.object({ ok: z.literal(true) });
export type Deleted = z.infer<typeof Deleted>;

/** 200 of POST /sandboxes/:id/pause. */
export const SandboxPaused = z.object({ state: z.literal("paused") });
export type SandboxPaused = z.infer<typeof SandboxPaused>;

/** 200 of POST /sandboxes/:id/resume. */
export const SandboxResumed = z.object({ state: z.literal("running"), controlUrl: z.string() });
export type SandboxResumed = z.infer<typeof SandboxResumed>;
