import type { SessionClaims } from "@svc/contract/tokens.ts";
import type { SessionLine } from "../../../durable-objects/org/messages.ts";
import { endedView, type SessionView } from "../../../durable-objects/session/view.ts";
import type { AppContext } from "../../context.ts";
import { reach } from "../../objects.ts";

/** A session whose object stores nothing: as its org knows it, or else as its id alone says. */
export async function sessionOfId(
  c: AppContext,
  id: string,
  claims: SessionClaims,
): Promise<SessionView> {
  const line = await reach(() => c.env.ORGS.getByName(claims.org).session(id));
  return (line && viewOfEnded(c, line)) ?? endedView(id, claims);
}

/** A session that its object knows nothing of any more; null when its create failed. */
export function viewOfEnded(c: AppContext, line: SessionLine): SessionView | null {
  const { ended, isOverdue } = line;
  if (ended) {
    const { status, closeReason } = ended;
    return { ...viewOfLine(c, line), status, closeReason };
  }
  return isOverdue ? { ...viewOfLine(c, line), status: "expired", closeReason: "expired" } : null;
}

/** What a line says of its session, whatever has become of it. */
export function viewOfLine(
  c: AppContext,
  { id, browserKind: kind, createdAt, expiresAt }: SessionLine,
): Omit<SessionView, "status" | "closeReason"> {
  const facts = { id, org: c.get("caller").orgId, kind, createdAt, expiresAt };
  return { ...facts, proxy: null, rungs: [] };
}
