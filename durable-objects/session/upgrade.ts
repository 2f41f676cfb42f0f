import { LIMITS } from "@svc/contract/limits.ts";
import { refuse, relay } from "../host-calls/relay.ts";
import { hostBearer, hostUrl } from "../host-calls/slots.ts";
import type { Signal } from "../live/signal.ts";
import type { LiveSession, StoredSession } from "./record.ts";
import { isWaiting, noSocketText } from "./view.ts";

/** Takes a customer's upgrade of `/ws` or `/cdp`, its id already verified, to the session's host. */
export async function upgrade(
  session: LiveSession,
  changes: Signal,
  request: Request,
): Promise<Response> {
  const { env, record } = session;
  const current = await onceRegistered(session, changes);
  if (!current?.place || current.state.status !== "active" || isWaiting(current))
    return refuse(404, noSocketText(current));
  const endpoint = new URL(request.url).pathname.startsWith("/cdp/") ? "cdp" : "ws";
  const bearer = await hostBearer(env, current);
  const response = await relay(request, hostUrl(current.place.url, endpoint, current.id), bearer);
  // Known here first: a client that comes back in the last moment of its grace must not be cut by it.
  if (response.status === 101) record.apply({ type: "attached" });
  return response;
}

/** The session once its host is registered, or as it is after 15 s. */
async function onceRegistered(
  { record }: LiveSession,
  changes: Signal,
): Promise<StoredSession | null> {
  const deadline = Date.now() + LIMITS.poolLookupMs;
  let session = record.tick();
  while (session && isWaiting(session) && Date.now() < deadline) {
    await changes.next(deadline - Date.now());
    session = record.tick();
  }
  return session;
}
