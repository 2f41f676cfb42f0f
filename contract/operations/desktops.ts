import {
  CreateDesktop,
  DesktopCreated,
  DesktopPaused,
  DesktopRecord,
  DesktopResumed,
  RecordingUrl,
} from "../vm/desktop.ts";
import { Deleted } from "../vm/sandbox.ts";
import type { Operation } from "./operation.ts";
import { SANDBOXES } from "./sandboxes.ts";

const { createSandbox, pauseSandbox, resumeSandbox } = SANDBOXES;
const { auth, bodyBytes } = createSandbox;
const common = { auth, bodyBytes };

/** Codes that only POST /sandboxes answers: a desktop is never headless, and every boot of a desktop is recorded. */
const NOT_OF_DESKTOPS: readonly string[] = [
  "RecordingRequiresDesktop",
  "RecordingRequiresGoldenBoot",
];

/** Document 2, Endpoints: the older surface of desktops over the same pipeline. */
export const DESKTOPS = {
  createDesktop: {
    ...common,
    method: "POST",
    path: "/desktops",
    summary: "Create a desktop: a microVM with a screen.",
    idempotent: true,
    request: CreateDesktop,
    example: { resolution: "1280x720" },
    success: { status: 201, body: DesktopCreated },
    errors: createSandbox.errors.filter((code) => !NOT_OF_DESKTOPS.includes(code)),
  },
  getDesktop: {
    ...common,
    method: "GET",
    path: "/desktops/:id",
    summary: "Read a desktop. It counts as activity.",
    success: { status: 200, body: DesktopRecord },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  deleteDesktop: {
    ...common,
    method: "DELETE",
    path: "/desktops/:id",
    summary: "Destroy a desktop. Repeating it is fine.",
    success: { status: 200, body: Deleted },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  pauseDesktop: {
    ...common,
    method: "POST",
    path: "/desktops/:id/pause",
    summary: "Save RAM and disk of a desktop and free its place. Repeating it is fine.",
    success: { status: 200, body: DesktopPaused },
    errors: pauseSandbox.errors,
  },
  resumeDesktop: {
    ...common,
    method: "POST",
    path: "/desktops/:id/resume",
    summary: "Resume a paused desktop.",
    success: { status: 200, body: DesktopResumed },
    errors: resumeSandbox.errors,
  },
  recordingUrl: {
    ...common,
    method: "GET",
    path: "/desktops/:id/recording-url",
    summary: "A short-lived URL of a desktop's recording, while it runs and once it is gone.",
    success: { status: 200, body: RecordingUrl },
    errors: ["NotFound", "RecordingPending", "RecordingUnavailable", "ControlPlaneUnavailable"],
  },
} as const satisfies Record<string, Operation>;
