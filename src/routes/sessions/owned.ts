import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import type { AppContext } from "../../context.ts";
import { reach } from "../../objects.ts";
import type { SessionDO } from "../../../durable-objects/session.ts";
import { atMost } from "../../../durable-objects/live/deadline.ts";
import type { SessionView } from "../../../durable-objects/session/view.ts";
import { sessionOfId } from "./ended.ts";

/** Longer than any question takes that a session's object passes on: to its org, or to its pool. */
const askMs = LIMITS.hostCallMs + LIMITS.objectCallMs;

/** Forged, malformed, unknown, another org's: one answer, to the byte (document 1, Authentication 7). */
export const invalidSessionId = (): ApiError =>
  new ApiError("InvalidSessionId", "There is no such session.");

/** The session of a path's `:id` when it is the caller's own, or another one of an org. Its age does not matter here. */
export async function ownedSession(
  c: AppContext,
  org = c.get("caller").orgId,
  id = c.req.param("id") ?? "",
): Promise<OwnedSession> {
  const claims = await readSessionId(c.env.SVC_SIGNING_SECRET, id);
  if (claims?.org !== org) throw invalidSessionId();
  const object = c.env.SESSIONS.getByName(id);
  return {
    ask: (call, waitMs = 0) => reach(() => atMost(askMs + waitMs, call(object))),
    ended: () => sessionOfId(c, id, claims),
  };
}

export interface OwnedSession {
  /** Asks the session's object, which may wait `waitMs` besides. */
  ask<P>(call: (object: DurableObjectStub<SessionDO>) => P, waitMs?: number): Promise<Awaited<P>>;
  /** The view of a session whose object stores nothing: it ended long ago, or its create failed. */
  ended(): Promise<SessionView>;
}
