import { AutologinResult, AutologinSites, RunAutologin } from "../browser/autologin.ts";
import { BeginHandoff, HandoffBegun } from "../browser/handoff.ts";
import { Handoff } from "../browser/take-over.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

const bodyBytes = LIMITS.requestBodyBytes;

/** Hand-offs of sessions to people, and logins that the service makes by itself (decisions; docs/LOGINS.md). */
export const HANDOFFS = {
  beginHandoff: {
    method: "POST",
    path: "/sessions/:id/handoffs",
    summary:
      "Ask a person to do something in the session: a page for them, which shows it and takes their input. Tools wait until they are done.",
    auth: "key",
    bodyBytes,
    request: BeginHandoff,
    example: { instructions: "Sign in, please." },
    success: { status: 201, body: HandoffBegun },
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
  getHandoff: {
    method: "GET",
    path: "/sessions/:id/handoffs/:handoffId",
    summary: "Read the last hand-off of a session, and wait for its end if told to.",
    auth: "key",
    bodyBytes,
    query: {
      waitMs: {
        description: `How long to wait for its end, at most ${LIMITS.handoffWaitMs}. A hand-off that is open then is answered as it is.`,
      },
    },
    success: { status: 200, body: Handoff },
    errors: ["NotFound", "InvalidSessionId", "NotRunning", "ObjectUnavailable"],
  },
  cancelHandoff: {
    method: "DELETE",
    path: "/sessions/:id/handoffs/:handoffId",
    summary: "Take a session back from a person. A hand-off that is over stays as it was.",
    auth: "key",
    bodyBytes,
    success: { status: 204, body: null },
    errors: ["NotFound", "InvalidSessionId", "NotRunning", "HandoffActive", "ObjectUnavailable"],
  },
  autologinSites: {
    method: "GET",
    path: "/sessions/:id/autologin",
    summary: "List the sites that the session can sign in to by itself, and how that stands.",
    auth: "key",
    bodyBytes,
    query: { site: { description: "This site alone." } },
    success: { status: 200, body: AutologinSites },
    errors: [
      "NoProfile",
      "ProfileNotFound",
      "InvalidSessionId",
      "NotRunning",
      "PoolUnreachable",
      "ControlPlaneUnavailable",
      "ObjectUnavailable",
    ],
  },
  runAutologin: {
    method: "POST",
    path: "/sessions/:id/autologin",
    summary:
      "Sign in with a saved login of the session's profile. Secrets are typed on pages of the login's own hosts alone, and a success saves the profile.",
    auth: "key",
    bodyBytes,
    request: RunAutologin,
    example: { site: "example.com" },
    success: { status: 200, body: AutologinResult },
    errors: [
      "InvalidJson",
      "ValidationError",
      "NoProfile",
      "NoSavedLogin",
      "ProfileNotFound",
      "InvalidSessionId",
      "NotRunning",
      "HandoffActive",
      "OriginMismatch",
      "NotConfigured",
      "PoolUnreachable",
      "ControlPlaneUnavailable",
      "ObjectUnavailable",
    ],
  },
} as const satisfies Record<string, Operation>;
