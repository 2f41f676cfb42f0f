import type { SlotDiscovery } from "@svc/contract/host-protocol/slots.ts";
import { logOf } from "@svc/contract/log.ts";
import { refuse } from "../../durable-objects/host-calls/relay.ts";
import { type AppContext, baseUrlOf } from "../context.ts";
import { endpointsOf } from "../routes/sessions/record.ts";
import { capabilityOf } from "./capability.ts";

const log = logOf("src");

/** GET /cdp/:sessionId/json/version, as Chrome answers it. The URL of the socket is the one that the client came by. */
export const version = answering((found, url) => ({
  Browser: found.browser,
  "Protocol-Version": found.protocol,
  "User-Agent": found.userAgent,
  "V8-Version": found.engine,
  "WebKit-Version": `537.36 (${found.revision})`,
  webSocketDebuggerUrl: url,
}));

/**
 * GET /cdp/:sessionId/json/list. Targets have no sockets of their own: clients attach to them on the socket of the
 * browser.
 */
export const list = answering(({ targets }) => targets.map((t) => ({ description: "", ...t })));

function answering(write: (found: SlotDiscovery, url: string) => object) {
  return async (c: AppContext): Promise<Response> => {
    const capability = await capabilityOf(c);
    if ("refused" in capability) return capability.refused;
    const { id } = capability;
    try {
      const answer = await c.env.SESSIONS.getByName(id).discover();
      if ("refused" in answer) return refuse(answer.refused.status, answer.refused.text);
      return c.json(write(answer.found, endpointsOf(baseUrlOf(c), id).cdpEndpoint));
    } catch (error) {
      log.error("object_failed", { requestId: c.get("requestId"), reason: error });
      return refuse(502, "A part of the service is restarting. Try again.");
    }
  };
}
