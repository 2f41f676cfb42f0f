import { LIMITS } from "@svc/contract/limits.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import { refuse } from "../../durable-objects/host-calls/relay.ts";
import type { AppContext } from "../context.ts";

/** The session id in the path, once its signature and age are good; else the refusal. */
export async function capabilityOf(c: AppContext): Promise<{ id: string } | { refused: Response }> {
  return openedBy(c.env.SVC_SIGNING_SECRET, c.req.param("sessionId") ?? "");
}

/** The session that an id opens, and its org; else the refusal. */
export async function openedBy(
  secret: string,
  id: string,
): Promise<{ id: string; org: string } | { refused: Response }> {
  const claims = await readSessionId(secret, id);
  if (!claims) return { refused: refuse(401, "The session id is not valid.") };
  if (Date.now() - claims.issuedAt < LIMITS.socketUrlAgeMs) return { id, org: claims.org };
  return { refused: refuse(401, "The URL is older than 90 minutes. Create a new session.") };
}
