import { FPS, PICTURE } from "@svc/contract/browser/observer.ts";
import { ERRORS, isApiError } from "@svc/contract/errors.ts";
import { FEED_TICKET_HEADER } from "@svc/contract/host-protocol/feed.ts";
import { logOf } from "@svc/contract/log.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import {
  type ViewerClaims,
  isAlias,
  readAlias,
  readViewerToken,
} from "@svc/contract/tokens/viewer.ts";
import { Hono } from "hono";
import { refuse } from "../../durable-objects/host-calls/relay.ts";
import { VIEWER_HEADER, type ViewerFacts } from "../../durable-objects/observer/viewer.ts";
import type { AppContext, AppEnv } from "../context.ts";
import { callerOf, checkHost } from "../middleware/auth.ts";
import { openedBy } from "./capability.ts";

const log = logOf("src");
const SECOND_MS = 1_000;
const PATH = "The path is /ws/observe/<session id or alias>, or /ws/live/<alias>.";

/** `/ws/observe/:name` (document 1, WebSocket upgrades), and the socket by which pools show what is watched. */
export const observerSockets = new Hono<AppEnv>();

for (const end of ["", "/"]) {
  observerSockets.get(`/ws/observe/:name${end}`, (c) => enter(c, byKeyOrToken));
  observerSockets.get(`/ws/live/:name${end}`, (c) => enter(c, byLiveToken));
}
for (const path of ["/ws/observe", "/ws/observe/*", "/ws/live", "/ws/live/*"])
  observerSockets.all(path, () => refuse(404, PATH));
observerSockets.get("/internal/sessions/:id/feed", checkHost, feed);

interface Watched {
  id: string;
  org: string;
}

/** What a caller may do, and until when (null: for as long as it likes). */
type Leave = Pick<ViewerFacts, "expiresAt" | "handoff" | "fps">;
type Check = (c: AppContext, watched: Watched) => Promise<Leave | null>;

async function enter(c: AppContext, check: Check): Promise<Response> {
  if (!isUpgrade(c)) return refuse(426, "This is a WebSocket endpoint.");
  const watched = await watchedBy(c, c.req.param("name") ?? "");
  if ("refused" in watched) return watched.refused;
  if (!c.req.header("sec-websocket-key")) return refuse(400, "Sec-WebSocket-Key is missing.");
  try {
    const leave = await check(c, watched);
    if (!leave) return refuse(401, "The key or token does not open this session.");
    const facts: ViewerFacts = { id: watched.id, ...PICTURE, page: null, faults: 0, ...leave };
    const headers = { upgrade: "websocket", [VIEWER_HEADER]: JSON.stringify(facts) };
    return await objectOf(c, watched.id).fetch("https://observer/", { headers });
  } catch (error) {
    if (isApiError(error))
      return new Response(`${error.message}\n`, { status: ERRORS[error.code].status });
    log.error("object_failed", { requestId: c.get("requestId"), reason: error });
    return refuse(502, "A part of the service is restarting. Try again.");
  }
}

/** The session that a name in the path stands for. */
async function watchedBy(c: AppContext, name: string): Promise<Watched | { refused: Response }> {
  const secret = c.env.SVC_SIGNING_SECRET;
  if (!isAlias(name)) return openedBy(secret, name);
  const alias = await readAlias(secret, name, Date.now());
  return alias ?? { refused: refuse(401, "The URL has expired, or was never one.") };
}

/** To watch: a key of the session's org, or a token to observe the session. */
async function byKeyOrToken(c: AppContext, watched: Watched): Promise<Leave | null> {
  const leave = { handoff: null, fps: fpsOf(c.req.query("fps"), FPS.usual) };
  if (c.req.header("authorization") !== undefined)
    return (await callerOf(c))?.orgId === watched.org ? { ...leave, expiresAt: null } : null;
  const claims = await claimsFor(c, watched);
  return claims?.aud === "observe" ? { ...leave, expiresAt: claims.exp * SECOND_MS } : null;
}

/** To take over: a token of a hand-off of the session, and nothing else. */
async function byLiveToken(c: AppContext, watched: Watched): Promise<Leave | null> {
  const claims = await claimsFor(c, watched);
  if (claims?.aud !== "live" || claims.mode !== "control" || claims.hid === undefined) return null;
  const fps = fpsOf(c.req.query("fps"), FPS.most);
  return { handoff: claims.hid, fps, expiresAt: claims.exp * SECOND_MS };
}

/** The claims of the token in the query, when it is one for this session. */
async function claimsFor(c: AppContext, { id, org }: Watched): Promise<ViewerClaims | null> {
  const secret = c.env.SVC_SIGNING_SECRET;
  const now = Date.now();
  const claims = await readViewerToken(secret, c.req.query("token") ?? "", now);
  const meant = claims && (await readAlias(secret, claims.sub, now));
  return claims?.org === org && meant?.id === id ? claims : null;
}

/** Frames a second, as far as they may be asked for. A text that is no number is no wish. */
function fpsOf(text: string | undefined, usual: number): number {
  const asked = Number(text ?? usual);
  return Number.isNaN(asked) ? usual : Math.min(FPS.most, Math.max(FPS.least, Math.round(asked)));
}

/** GET /internal/sessions/:id/feed: a pool dials in, with the ticket by which it was asked. */
async function feed(c: AppContext): Promise<Response> {
  const id = c.req.param("id") ?? "";
  const ticket = c.req.header(FEED_TICKET_HEADER);
  if (!isUpgrade(c) || ticket === undefined) return refuse(426, "This is a WebSocket endpoint.");
  if (!(await readSessionId(c.env.SVC_SIGNING_SECRET, id))) return refuse(404, "No such session.");
  const headers = { upgrade: "websocket", [FEED_TICKET_HEADER]: ticket };
  return objectOf(c, id).fetch("https://observer/", { headers });
}

const isUpgrade = (c: AppContext): boolean =>
  c.req.header("upgrade")?.toLowerCase() === "websocket";

const objectOf = (c: AppContext, id: string) => c.env.OBSERVERS.getByName(id);
