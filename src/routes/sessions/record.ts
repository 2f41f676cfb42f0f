import type { SessionRecord } from "@svc/contract/browser/session.ts";
import type { Handoff } from "@svc/contract/browser/take-over.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Handoff as StoredHandoff } from "../../../durable-objects/session/handoff.ts";
import type { SessionView } from "../../../durable-objects/session/view.ts";

/** Where a session's sockets are: ws:// when the base URL is http. */
export function endpointsOf(baseUrl: string, id: string) {
  const base = baseUrl.replace(/^http/, "ws");
  const name = encodeURIComponent(id);
  return { wsEndpoint: `${base}/ws/${name}`, cdpEndpoint: `${base}/cdp/${name}` };
}

/** The record of GET /sessions/:id. Endpoints are there only while they work. */
export function recordOf(view: SessionView, baseUrl: string, now: number): SessionRecord {
  const status = statusOf(view, now);
  const isOpen = status === "active" && now - view.createdAt < LIMITS.socketUrlAgeMs;
  return {
    id: view.id,
    status,
    kind: status === "unknown" ? null : view.kind,
    org: view.org,
    createdAt: new Date(view.createdAt).toISOString(),
    expiresAt: view.expiresAt === null ? null : new Date(view.expiresAt).toISOString(),
    ...(isOpen && endpointsOf(baseUrl, view.id)),
    ...(view.closeReason && { closeReason: view.closeReason }),
    ...(view.handoff && { handoff: handoffOf(view.handoff) }),
    ...proxyOf(view, status),
  };
}

/** A hand-off as its owner sees it. */
export function handoffOf(handoff: StoredHandoff): Handoff {
  const { id, kind = "takeOver", status, instructions, successUrl, finalUrl } = handoff;
  return {
    id,
    kind,
    status,
    createdAt: new Date(handoff.createdAt).toISOString(),
    expiresAt: new Date(handoff.expiresAt).toISOString(),
    ...(instructions !== undefined && { instructions }),
    ...(successUrl !== undefined && { successUrl }),
    ...(finalUrl !== undefined && { finalUrl }),
  };
}

/** How a session left, and leaves as long as it is there. */
function proxyOf({ proxy, rungs }: SessionView, status: SessionRecord["status"]) {
  const { timezoneId, country, tier } = rungs.at(-1) ?? proxy ?? {};
  const isThere = status === "active" && timezoneId && country && tier;
  const climbed = rungs.map((rung) => ({
    tier: rung.tier,
    reason: rung.reason,
    at: new Date(rung.at).toISOString(),
  }));
  return {
    ...(isThere && { proxy: { timezoneId, country, tier } }),
    ...(climbed.length > 0 && { proxyRungs: climbed }),
  };
}

function statusOf(view: SessionView, now: number): SessionRecord["status"] {
  switch (view.status) {
    case "creating":
      return now - view.createdAt < LIMITS.unboundMs ? "active" : "unknown";
    case "away":
      return "unknown";
    case "active":
    case "released":
    case "expired":
      return view.status;
  }
}
