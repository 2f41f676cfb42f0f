import { Health } from "../browser/health.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

/** Document 1, GET /health: the only route without a key. It answers 200 whatever comes with the request. */
export const HEALTH = {
  health: {
    method: "GET",
    path: "/health",
    summary: "Whether the gateway is alive, and how many slots there are.",
    auth: "none",
    bodyBytes: LIMITS.requestBodyBytes,
    ignoresBody: true,
    success: { status: 200, body: Health },
    errors: [],
  },
} as const satisfies Record<string, Operation>;
