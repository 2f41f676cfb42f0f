import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

/** Signed URLs: the token is the credential (decisions, additive routes). */
export const OBJECTS = {
  getObject: {
    method: "GET",
    path: "/objects/:token",
    summary: "Fetch a stored object by a signed URL.",
    auth: "none",
    bodyBytes: LIMITS.requestBodyBytes,
    success: { status: 200, body: null },
    errors: ["ObjectNotFound", "ControlPlaneUnavailable"],
  },
} as const satisfies Record<string, Operation>;
