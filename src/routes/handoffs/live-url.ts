import { mintViewerUrl } from "@svc/contract/tokens/viewer-url.ts";
import { type AppContext, baseUrlOf } from "../../context.ts";
import type { Handoff } from "../../../durable-objects/session/handoff.ts";

/** The URL of a hand-off's page. The token stands in the fragment, which no browser sends: no log and no Referer has it. */
export async function liveUrlOf(c: AppContext, handoff: Handoff): Promise<string> {
  const { token } = await mintViewerUrl(c.env.SVC_SIGNING_SECRET, {
    id: c.req.param("id") ?? "",
    org: c.get("caller").orgId,
    now: Date.now(),
    expiresAt: handoff.expiresAt,
    handoff: handoff.id,
  });
  return `${baseUrlOf(c)}/console/live/${handoff.id}#t=${token}`;
}
