import { ApiError } from "@svc/contract/errors.ts";
import type { Handoff, HandoffWish } from "../../../durable-objects/session/handoff.ts";
import { accepted } from "../../accepted.ts";
import type { OwnedSession } from "../sessions/owned.ts";

/** The hand-off that begins, or the one of the session that is open already. Throws where a recording would show what is typed. */
export async function openHandoff(
  session: OwnedSession,
  id: string,
  lastsMs: number,
  wish: HandoffWish,
): Promise<Handoff> {
  const answer = await session.ask((object) => object.beginHandoff(id, lastsMs, wish));
  if (!answer) throw new ApiError("NotRunning", "The session has ended, or is being created.");
  return accepted(answer);
}
