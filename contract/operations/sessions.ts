import {
  CreateSession,
  Lease,
  RenewLease,
  SessionCreated,
  SessionList,
  SessionRecord,
} from "../browser/session.ts";
import { AllowedDomainsSet, SetAllowedDomains } from "../browser/allowed-domains.ts";
import { ObserveToken } from "../browser/observer.ts";
import { SaveSessionProfile, SessionProfileSaved } from "../browser/profile.ts";
import { ReplayUrl } from "../browser/replay.ts";
import { AskLiveToken, LiveToken } from "../browser/take-over.ts";
import { SessionFile, SessionFileStored, SessionFiles } from "../browser/session-file.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

const bodyBytes = LIMITS.requestBodyBytes;
const NOT_LIVE = [
  "InvalidSessionId",
  "NotRunning",
  "PoolUnreachable",
  "ObjectUnavailable",
] as const;

/** Document 1, Endpoints; GET /sessions is an addition (decisions). */
export const SESSIONS = {
  createSession: {
    method: "POST",
    path: "/sessions",
    summary: "Create a browser session.",
    auth: "key",
    bodyBytes,
    idempotent: true,
    request: CreateSession,
    example: { recording: true },
    success: { status: 201, body: SessionCreated },
    errors: [
      "ValidationError",
      "InvalidIdempotencyKey",
      "IdempotencyKeyReused",
      "FeatureRequiresPlan",
      "ProfileNotFound",
      "ProfileUnloadable",
      "ProfileUnavailable",
      "ControlPlaneUnavailable",
      "ConcurrencyLimitExceeded",
      "ConcurrencyCheckUnavailable",
      "AcquireTimeout",
      "WireVersionMismatch",
      "NotConfigured",
      "ObjectUnavailable",
    ],
  },
  listSessions: {
    method: "GET",
    path: "/sessions",
    summary: "List the sessions of the org, newest first.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: SessionList },
    errors: ["ObjectUnavailable"],
  },
  getSession: {
    method: "GET",
    path: "/sessions/:id",
    summary: "Read a session.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: SessionRecord },
    errors: ["InvalidSessionId", "ObjectUnavailable"],
  },
  releaseSession: {
    method: "DELETE",
    path: "/sessions/:id",
    summary: "Release a session and its slot. Repeating it is fine.",
    auth: "key",
    bodyBytes,
    success: { status: 204, body: null },
    errors: ["InvalidSessionId", "ObjectUnavailable"],
  },
  renewLease: {
    method: "POST",
    path: "/sessions/:id/lease",
    summary: "Renew the lease of a session, or give it one.",
    auth: "key",
    bodyBytes,
    request: RenewLease,
    example: { idleSeconds: 60 },
    success: { status: 200, body: Lease },
    errors: ["InvalidJson", "ValidationError", "InvalidSessionId", "NotRunning"],
  },
  replayUrl: {
    method: "GET",
    path: "/sessions/:id/replay-url",
    summary: "A short-lived URL of the session's replay.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: ReplayUrl },
    errors: ["ReplayPending", "ReplayUnavailable", "ReplayNotFound", "ControlPlaneUnavailable"],
  },
  observeToken: {
    method: "POST",
    path: "/sessions/:id/observe-token",
    summary: "A short-lived URL by which the session can be watched, and nothing else.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: ObserveToken },
    errors: ["InvalidSessionId", "NotRunning", "ObjectUnavailable"],
  },
  liveToken: {
    method: "POST",
    path: "/sessions/:id/live-token",
    summary:
      "Hand the session to a person: a URL by which it can be taken over, for as long as the hand-off lasts.",
    auth: "key",
    bodyBytes,
    request: AskLiveToken,
    example: { timeoutSeconds: 600 },
    success: { status: 200, body: LiveToken },
    errors: [
      "InvalidJson",
      "ValidationError",
      "InvalidSessionId",
      "NotRunning",
      "HandoffActive",
      "PoolUnreachable",
      "ObjectUnavailable",
    ],
  },
  setAllowedDomains: {
    method: "POST",
    path: "/sessions/:id/allowed-domains",
    summary: "Replace the egress allowlist of a session.",
    auth: "key",
    bodyBytes,
    request: SetAllowedDomains,
    example: { domains: ["example.com"] },
    success: { status: 200, body: AllowedDomainsSet },
    errors: ["InvalidJson", "ValidationError", "InvalidSessionId", "PoolUnreachable"],
  },
  listSessionFiles: {
    method: "GET",
    path: "/sessions/:id/files",
    summary:
      "List the downloads and uploads of a session, oldest first, each complete one with a signed URL.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: SessionFiles },
    errors: NOT_LIVE,
  },
  getSessionFile: {
    method: "GET",
    path: "/sessions/:id/files/:name",
    summary: "Read a file's entry in the list, with a new signed URL for 15 minutes.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: SessionFile },
    errors: ["NotFound", ...NOT_LIVE],
  },
  putSessionFile: {
    method: "PUT",
    path: "/sessions/:id/files/:name",
    summary:
      "Give a session a file: raw bytes, at most 100 MB. The answer has the path that file inputs take. A file of that name is replaced.",
    auth: "key",
    bodyBytes: LIMITS.sessionFileBytes,
    isRaw: true,
    success: { status: 200, body: SessionFileStored },
    errors: ["ValidationError", "SessionFilesFull", ...NOT_LIVE],
  },
  saveSessionProfile: {
    method: "POST",
    path: "/sessions/:id/save-profile",
    summary:
      "Save cookies and storage of the live browser as the next version of a profile: by id, by name (made when there is none), or the one that the session began with.",
    auth: "key",
    bodyBytes,
    request: SaveSessionProfile,
    example: { name: "work" },
    success: { status: 200, body: SessionProfileSaved },
    errors: [
      "InvalidJson",
      "ValidationError",
      "ProfileNotFound",
      "ProfileLocked",
      "ProfileVersionConflict",
      "PlanLimitExceeded",
      "ProfileUnavailable",
      "ControlPlaneUnavailable",
      ...NOT_LIVE,
    ],
  },
} as const satisfies Record<string, Operation>;
