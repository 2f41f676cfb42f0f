import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import { Hono } from "hono";
import { refuse } from "../../durable-objects/host-calls/relay.ts";
import type { AppContext, AppEnv } from "../context.ts";

const log = logOf("src");

/**
 * `/ws/:sessionId` and `/cdp/:sessionId`: the signed id in the URL is the capability, no key is asked.
 * Refusals are plain text (document 1, WebSocket upgrades).
 */
export const sockets = new Hono<AppEnv>();

sockets.get("/ws/:sessionId", upgrade);
sockets.get("/cdp/:sessionId", upgrade);
for (const path of ["/ws", "/ws/*", "/cdp", "/cdp/*"]) {
  sockets.all(path, () => refuse(404, "The path is /ws/<sessionId> or /cdp/<sessionId>."));
}

async function upgrade(c: AppContext): Promise<Response> {
  if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
    return refuse(426, "This is a WebSocket endpoint.");
  }
  const id = c.req.param("sessionId") ?? "";
  const claims = await readSessionId(c.env.SVC_SIGNING_SECRET, id);
  if (!claims) return refuse(401, "The session id is not valid.");
  if (Date.now() - claims.issuedAt >= LIMITS.socketUrlAgeMs) {
    return refuse(401, "The URL is older than 90 minutes. Create a new session.");
  }
  if (!c.req.header("sec-websocket-key")) return refuse(400, "Sec-WebSocket-Key is missing.");
  try {
    return await c.env.SESSIONS.getByName(id).fetch(c.req.raw);
  } catch (error) {
    log.error("object_failed", { requestId: c.get("requestId"), reason: error });
    return refuse(502, "A part of the service is restarting. Try again.");
  }
}
