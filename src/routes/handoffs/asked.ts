import { ApiError } from "@svc/contract/errors.ts";
import type { Handoff } from "../../../durable-objects/session/handoff.ts";
import type { AppContext } from "../../context.ts";
import type { OwnedSession } from "../sessions/owned.ts";

/** The hand-off of a path's `:handoffId`, out of the session's last hand-off, which is the only one that is kept. */
export async function askedHandoff(
  c: AppContext,
  session: OwnedSession,
  last: Handoff | null,
): Promise<Handoff> {
  if (last && last.id === c.req.param("handoffId")) return last;
  const view = await session.ask((object) => object.read());
  if (view?.status === "active" || view?.status === "away")
    throw new ApiError("NotFound", "This is not the last hand-off of the session.");
  throw new ApiError("NotRunning", "The session has ended, and its hand-off with it.");
}
