import { LIMITS } from "../limits.ts";
import { Usage } from "../usage.ts";
import type { Operation } from "./operation.ts";

/** What was used and what it cost (decisions, additive routes). */
export const USAGE = {
  readUsage: {
    method: "GET",
    path: "/usage",
    summary:
      "What the org used between `from` and `to` (ISO 8601; the month so far), what it cost, and what the org keeps now.",
    auth: "key",
    bodyBytes: LIMITS.requestBodyBytes,
    success: { status: 200, body: Usage },
    errors: ["ValidationError", "ControlPlaneUnavailable", "ObjectUnavailable"],
  },
} as const satisfies Record<string, Operation>;
