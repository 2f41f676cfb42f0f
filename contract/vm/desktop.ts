import * as z from "zod";
import { CreateSandbox } from "./create.ts";
import { LifecycleWanted } from "./lifecycle.ts";
import { Isolation } from "./machine.ts";
import type { SandboxState } from "./sandbox.ts";

/**
 * POST /desktops as it is sent: a table of its own, without `diskGb` and `envs`, which are ignored like
 * every unknown field. null is the default. Source: document 2, Desktop create request.
 */
export const CreateDesktop = CreateSandbox.pick({
  template: true,
  resolution: true,
  cpu: true,
  memMb: true,
  timeoutMs: true,
  metadata: true,
  record: true,
  volumes: true,
}).extend({
  /** Deprecated: the idle window in seconds, when `timeoutMs` is absent. */
  ttlSeconds: z.number().positive().refine(Number.isInteger, "no whole number").nullish(),
  lifecycle: LifecycleWanted.pick({ onTimeout: true, autoResume: true }).strict().nullish(),
  isolation: Isolation.exclude(["shared"]).nullish(),
});
export type CreateDesktop = z.infer<typeof CreateDesktop>;

/** 201 of POST /desktops. */
export const DesktopCreated = z.object({
  sessionId: z.string(),
  streamUrl: z.string(),
  controlUrl: z.string(),
  expiresAt: z.iso.datetime(),
  recordingUrl: z.string().exactOptional(),
});
export type DesktopCreated = z.infer<typeof DesktopCreated>;

/** State of a desktop under /desktops: `ready` is `running` under /sandboxes (document 2). */
export const DesktopStatus = z.enum(["starting", "ready", "paused", "releasing", "gone"]);
export type DesktopStatus = z.infer<typeof DesktopStatus>;

/** The word of /desktops for each state of a sandbox. */
export const DESKTOP_STATUS: Record<SandboxState, DesktopStatus> = {
  starting: "starting",
  running: "ready",
  paused: "paused",
  archived: "paused",
  releasing: "releasing",
  gone: "gone",
};

/** 200 of GET /desktops/:id. A desktop that is gone has no deadline. */
export const DesktopRecord = z.object({
  sessionId: z.string(),
  status: DesktopStatus,
  expiresAt: z.iso.datetime().nullable(),
  orgId: z.string(),
});
export type DesktopRecord = z.infer<typeof DesktopRecord>;

/** 200 of GET /desktops/:id/recording-url (decision). */
export const RecordingUrl = z.object({
  /** A WebM video of what is stored by now; ranges are served. It grows while the desktop runs. */
  url: z.string(),
  expiresInSeconds: z.int().positive(),
  durationMs: z.int().nonnegative(),
  sizeBytes: z.int().nonnegative(),
  /** Something is missing: its host had no room for it. */
  cut: z.boolean(),
});
export type RecordingUrl = z.infer<typeof RecordingUrl>;

/** 200 of POST /desktops/:id/pause. */
export const DesktopPaused = z.object({ sessionId: z.string(), status: z.literal("paused") });
export type DesktopPaused = z.infer<typeof DesktopPaused>;

/** 200 of POST /desktops/:id/resume. */
export const DesktopResumed = z.object({ sessionId: z.string(), status: z.literal("ready") });
export type DesktopResumed = z.infer<typeof DesktopResumed>;
