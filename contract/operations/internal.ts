import { Heartbeat, HeartbeatReply } from "../host-protocol/heartbeat.ts";
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
    request: Heartbeat,
    success: { status: 200, body: HeartbeatReply },
    errors: ["InvalidJson", "ValidationError"],
  },
} as const satisfies Record<string, Operation>;
