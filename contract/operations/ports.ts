import { LIMITS } from "../limits.ts";
import { Preview } from "../vm/preview.ts";
import type { Operation } from "./operation.ts";

/** Document 2, GET /sandboxes/:id/ports/:port. */
export const PORTS = {
  previewPort: {
    method: "GET",
    path: "/sandboxes/:id/ports/:port",
    summary: "A URL of a TCP port inside, for an hour, or for everyone.",
    auth: "key",
    bodyBytes: LIMITS.vmRequestBodyBytes,
    query: {
      public: { description: "1 opens the port to everyone who has its host name, 0 closes it." },
    },
    success: { status: 200, body: Preview },
    errors: [
      "ValidationError",
      "NotFound",
      "NotConfigured",
      "ControlPlaneUnavailable",
      "ObjectUnavailable",
    ],
  },
} as const satisfies Record<string, Operation>;
