import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { noteFault } from "../host-calls/fault.ts";
import { tellHandoff } from "../host-calls/slots.ts";
import { isOpen, newsOf } from "./handoff.ts";
import { type LiveSession, isRecorded } from "./record.ts";
import { isWaiting } from "./view.ts";

/**
 * Has the recording of a session hide what is typed, before anybody has the hand-off that is open. A hand-off that was to begin under
 * this id is cancelled where the pool does not say that it does.
 */
export async function hideInput({ env, record }: LiveSession, id: string): Promise<Refusal | null> {
  const session = record.load();
  const handoff = session?.state.status === "active" ? session.state.handoff : undefined;
  if (!session?.place || !isRecorded(session) || !isOpen(handoff)) return null;
  try {
    if (isWaiting(session)) throw new Error("the pool is away");
    const isThere = await tellHandoff(env, session.place.url, session, newsOf(handoff));
    if (isThere) return null;
    throw new Error("the pool does not know the session, or the call");
  } catch (error) {
    noteFault("POST /slots/:id/handoff", error);
    record.apply({ type: "handoffEnded", id, as: "cancelled" });
    return refusal("PoolUnreachable", UNTOLD);
  }
}

const UNTOLD =
  "The session is recorded, and its browser pool did not say that it hides what is typed: there is no hand-off. Try again; if that does not help, create the session without a recording, or update its pool.";
