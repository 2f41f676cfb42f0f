import { OPENS_HEADER, OWN_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { refuse, relay } from "../host-calls/relay.ts";
import type { Place } from "../host-calls/place.ts";
import { hostBearer, hostUrl } from "../host-calls/slots.ts";
import type { LiveSession, StoredSession } from "./record.ts";
import { isWaiting, noSocketText } from "./view.ts";

/** Takes a customer's upgrade of `/ws` or `/cdp`, its id already verified, to the session's host. */
export async function upgrade(live: LiveSession, request: Request): Promise<Response> {
  const open = await openSession(live);
  if ("refused" in open) return refuse(404, open.refused);
  const { session, place } = open;
  const endpoint = new URL(request.url).pathname.startsWith("/cdp/") ? "cdp" : "ws";
  const bearer = await hostBearer(live.env, session);
  // A client that comes back in the last moment of its grace must not be cut by it, though its host is slow.
  live.record.apply({ type: "arriving" });
  const response = await relay(request, hostUrl(place.url, endpoint, session.id), bearer);
  const isOpen = response.status === 101;
  live.record.apply(
    isOpen ? { type: "attached", opens: opensOf(response) } : { type: "notArrived" },
  );
  return response;
}

/** The URL of a /cdp socket for the gateway itself: the socket is nobody's presence, and no path of customers leads to it. */
export const OWN_URL = "https://session/own";

/** Opens a socket of /cdp for the gateway itself. */
export async function upgradeOwn(live: LiveSession, request: Request): Promise<Response> {
  const open = await openSession(live);
  if ("refused" in open) return refuse(404, open.refused);
  const { session, place } = open;
  const bearer = await hostBearer(live.env, session);
  const own = { [OWN_HEADER]: "1" };
  return relay(request, hostUrl(place.url, "cdp", session.id), bearer, undefined, own);
}

/** The session and where it runs, or why it takes no sockets. Waits for its host to be registered. */
export async function openSession(
  live: LiveSession,
): Promise<{ session: StoredSession; place: Place } | { refused: string }> {
  const session = await onceRegistered(live);
  if (!session?.place || session.state.status !== "active" || isWaiting(session))
    return { refused: noSocketText(session) };
  return { session, place: session.place };
}

/** The number of the socket that was opened: the host names it. */
function opensOf({ headers }: Response): number {
  const opens = Number(headers.get(OPENS_HEADER));
  return Number.isSafeInteger(opens) ? opens : 0;
}

/** The session once its host is registered, or as it is after 15 s. */
async function onceRegistered({ record, changes }: LiveSession): Promise<StoredSession | null> {
  const deadline = Date.now() + LIMITS.poolLookupMs;
  let session = record.tick();
  while (session && isWaiting(session) && Date.now() < deadline) {
    await changes.next(deadline - Date.now());
    session = record.tick();
  }
  return session;
}
