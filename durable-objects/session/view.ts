import type { BrowserKind, CloseReason } from "@svc/contract/browser/session.ts";
import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { ProxyApplied } from "@svc/contract/browser/proxy.ts";
import type { Rung } from "@svc/contract/host-protocol/exits.ts";
import type { SessionClaims } from "@svc/contract/tokens.ts";
import type { Handoff } from "./handoff.ts";
import type { StoredSession } from "./record.ts";

/** What GET /sessions/:id is made of. Times are ms since the epoch. */
export interface SessionView {
  id: string;
  org: string;
  /** null when nothing is stored of the session. */
  kind: BrowserKind | null;
  createdAt: number;
  expiresAt: number | null;
  /** `creating`: no slot yet; `away`: its pool is not registered. */
  status: "creating" | "active" | "away" | "released" | "expired";
  closeReason: CloseReason | null;
  /** The exit by which it left from the start; null: from its host. */
  proxy: ProxyApplied | null;
  /** What the proxy ladder has climbed to since. */
  rungs: Rung[];
  /** Its last hand-off, while it is live. */
  handoff?: Handoff;
}

/** The session as its owner sees it; null when its create failed. */
export function viewOf({
  id,
  org,
  kind,
  createdAt,
  expiresAt,
  proxy = null,
  rungs = [],
  state,
}: StoredSession): SessionView | null {
  const known = { id, org, kind, createdAt, expiresAt, proxy, rungs };
  switch (state.status) {
    case "failed":
      return null;
    case "creating":
      return { ...known, status: "creating", closeReason: null };
    case "active":
      return {
        ...known,
        status: state.awaySince === null ? "active" : "away",
        closeReason: null,
        ...(state.handoff && { handoff: state.handoff }),
      };
    case "released":
      return { ...known, status: "released", closeReason: state.reason };
    case "expired":
      return { ...known, status: "expired", closeReason: "expired" };
  }
}

/** A session of which nothing is stored: it ended long ago, or its create failed. Its id says the rest. */
export const endedView = (id: string, { org, issuedAt }: SessionClaims): SessionView => ({
  id,
  org,
  kind: null,
  createdAt: issuedAt,
  expiresAt: null,
  status: "released",
  closeReason: null,
  proxy: null,
  rungs: [],
});

/** Whether an upgrade should wait: the session has no slot yet, or its pool is away and may come back. */
export function isWaiting({ state }: StoredSession): boolean {
  return state.status === "creating" || (state.status === "active" && state.awaySince !== null);
}

/** Why an upgrade is refused. */
export function noSocketText(session: StoredSession | null): string {
  const view = session && viewOf(session);
  if (!view) return "No such session.";
  if (session && isWaiting(session))
    return "The session's browser pool is not registered. Try again.";
  return `The session has ended (${view.closeReason}). Create a new one.`;
}

/** Why the allowlist of a session cannot be changed; null when it can. */
export function domainsRefusal(session: StoredSession): Refusal | null {
  const field = "domains";
  if (session.kind !== "stealth") {
    const text = "domains: the session is not a stealth session";
    return refusal("ValidationError", text, { field });
  }
  if (!session.isConfined) return notConfined();
  return isWaiting(session) ? poolUnreachable() : null;
}

/** Nothing can be replaced: to try again is in vain. */
export const notConfined = (): Refusal =>
  refusal("ValidationError", "domains: the session was created without allowedDomains", {
    field: "domains",
  });

/** Where a session runs, and the profile that it began with, if there is one. */
export interface Located {
  url: string;
  profileId: string | null;
}

/** Where a session runs, or why nothing is asked of its pool. */
export function locatedOf(session: StoredSession): Located | Refusal {
  const { state, place, profileId = null } = session;
  if (state.status === "creating")
    return refusal("NotRunning", "The session is still being created.");
  if (state.status !== "active")
    return refusal("NotRunning", "The session has ended, and what it had is gone.");
  return isWaiting(session) || !place ? poolUnreachable() : { url: place.url, profileId };
}

export const poolUnreachable = (): Refusal =>
  refusal("PoolUnreachable", "The session's browser pool cannot be reached. Try again.");
