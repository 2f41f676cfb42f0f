import { CreateSession, SessionCreated, SessionList, SessionRecord } from "../browser/session.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

const bodyBytes = LIMITS.requestBodyBytes;

/** Document 1, Endpoints; GET /sessions is an addition (decisions). */
export const SESSIONS = {
  createSession: {
    method: "POST",
    path: "/sessions",
    summary: "Create a browser session.",
    auth: "key",
    bodyBytes,
    request: CreateSession,
    success: { status: 201, body: SessionCreated },
    errors: [
      "FeatureRequiresPlan",
      "ConcurrencyLimitExceeded",
      "ConcurrencyCheckUnavailable",
      "AcquireTimeout",
      "NotConfigured",
    ],
  },
  listSessions: {
    method: "GET",
    path: "/sessions",
    summary: "List the sessions of the org, newest first.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: SessionList },
    errors: [],
  },
  getSession: {
    method: "GET",
    path: "/sessions/:id",
    summary: "Read a session.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: SessionRecord },
    errors: ["InvalidSessionId"],
  },
  releaseSession: {
    method: "DELETE",
    path: "/sessions/:id",
    summary: "Release a session and its slot. Repeating it is fine.",
    auth: "key",
    bodyBytes,
    success: { status: 204, body: null },
    errors: ["InvalidSessionId"],
  },
} as const satisfies Record<string, Operation>;
