import type { SessionRecord } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
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
