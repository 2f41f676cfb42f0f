import { AnyHeartbeat, HeartbeatReply } from "../host-protocol/heartbeat.ts";
import { AskObject, ObjectUrls } from "../host-protocol/objects.ts";
import { RecordingReport } from "../host-protocol/recording.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

/** What hosts call (host protocol). */
export const INTERNAL = {
  heartbeat: {
    method: "POST",
    path: "/internal/hosts/:hostId/heartbeat",
    summary: "A host says what it holds; the reply says what to end.",
    auth: "host",
    bodyBytes: LIMITS.hostBodyBytes,
    request: AnyHeartbeat,
    success: { status: 200, body: HeartbeatReply },
    errors: ["InvalidJson", "ValidationError", "ObjectUnavailable"],
  },
  recording: {
    method: "POST",
    path: "/internal/sessions/:id/recording",
    summary: "A host says how far a session's recording is.",
    auth: "host",
    bodyBytes: LIMITS.hostBodyBytes,
    request: RecordingReport,
    success: { status: 204, body: null },
    errors: ["InvalidJson", "ValidationError", "InvalidSessionId", "ControlPlaneUnavailable"],
  },
  sessionProfile: {
    method: "POST",
    path: "/internal/sessions/:id/profile/:profileId",
    summary:
      "A host stores the state of a session that has ended as the next version of its profile.",
    auth: "host",
    bodyBytes: LIMITS.profileStateBytes,
    isRaw: true,
    success: { status: 204, body: null },
    errors: [
      "ValidationError",
      "InvalidSessionId",
      "ProfileNotFound",
      "ProfileLocked",
      "ProfileVersionConflict",
      "ControlPlaneUnavailable",
    ],
  },
  askObject: {
    method: "POST",
    path: "/internal/objects",
    summary: "A host asks by which signed URLs it may read or store an object.",
    auth: "host",
    bodyBytes: LIMITS.requestBodyBytes,
    request: AskObject,
    success: { status: 200, body: ObjectUrls },
    errors: ["InvalidJson", "ValidationError", "ObjectNotFound", "ControlPlaneUnavailable"],
  },
} as const satisfies Record<string, Operation>;
