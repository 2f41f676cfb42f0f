import { logOf } from "@svc/contract/log.ts";
import { Hono } from "hono";
import { refuse } from "../../durable-objects/host-calls/relay.ts";
import type { AppContext, AppEnv } from "../context.ts";
import { capabilityOf } from "./capability.ts";
import { list, version } from "./discovery.ts";

const log = logOf("src");

/**
 * `/ws/:sessionId` and `/cdp/:sessionId`: the signed id in the URL is the capability, no key is asked.
 * Refusals are plain text (document 1, WebSocket upgrades).
 */
export const sockets = new Hono<AppEnv>();

// With a slash at the end too: clients add one.
for (const end of ["", "/"]) {
  sockets.get(`/ws/:sessionId${end}`, upgrade);
  sockets.get(`/cdp/:sessionId${end}`, upgrade);
  sockets.get(`/cdp/:sessionId/json/version${end}`, version);
  sockets.get(`/cdp/:sessionId/json/list${end}`, list);
  sockets.get(`/cdp/:sessionId/json${end}`, list);
}
for (const path of ["/ws", "/ws/*", "/cdp", "/cdp/*"]) {
  sockets.all(path, () => refuse(404, "The path is /ws/<sessionId> or /cdp/<sessionId>."));
}

async function upgrade(c: AppContext): Promise<Response> {
  if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
    return refuse(426, "This is a WebSocket endpoint.");
  }
  const capability = await capabilityOf(c);
  if ("refused" in capability) return capability.refused;
  if (!c.req.header("sec-websocket-key")) return refuse(400, "Sec-WebSocket-Key is missing.");
  try {
    return await c.env.SESSIONS.getByName(capability.id).fetch(c.req.raw);
  } catch (error) {
    log.error("object_failed", { requestId: c.get("requestId"), reason: error });
    return refuse(502, "A part of the service is restarting. Try again.");
  }
}
