import { writeSegment } from "../../control-plane/usage.ts";
import { endSlot, seeSlot, tellHandoff } from "../host-calls/slots.ts";
import { notePlacement } from "../host/placement.ts";
import type { SessionDuty } from "./duties.ts";
import { isOpen, newsOf } from "./handoff.ts";
import type { StoredSession } from "./record.ts";
import type { SessionState } from "./state.ts";
import { type SessionEvent, eventOf } from "./transitions.ts";

/** The host is told of an end once its customer has the answer. */
const ackMs = 10;

/** Does one duty, from the session as it is now, so that late or twice does no harm. Answers what it found out. */
export async function perform(
  env: Env,
  session: StoredSession,
  duty: SessionDuty,
): Promise<readonly SessionEvent[]> {
  switch (duty) {
    case "reservation":
      await settleReservation(env, session);
      return [];
    case "usage":
      await writeUsage(env, session);
      return [];
    case "host":
      return notePlacement(env, session, session.state.status === "active");
    case "handoff":
      await tellViewers(env, session);
      return [];
    case "hiding":
      await showAgain(env, session);
      return [];
    case "presence":
      return askPresence(env, session);
    case "slot":
      await scheduler.wait(ackMs);
      if (session.place) await endSlot(env, session.place.url, session);
      return [];
  }
}

/** Tells the object of the viewers how the session's hand-off stands. */
async function tellViewers(env: Env, { id, state }: StoredSession): Promise<void> {
  const handoff = state.status === "active" ? state.handoff : undefined;
  if (handoff) await env.OBSERVERS.getByName(id).handoffIs(id, handoff);
}

/** Tells the pool that a hand-off is over. The beginning of another one has told it more. */
async function showAgain(env: Env, session: StoredSession): Promise<void> {
  const { state, place } = session;
  const handoff = state.status === "active" ? state.handoff : undefined;
  if (handoff && !isOpen(handoff) && place)
    await tellHandoff(env, place.url, session, newsOf(handoff));
}

/** Asks the host for its count of the session's sockets. A host that does not hold the session has lost it. */
async function askPresence(env: Env, session: StoredSession): Promise<readonly SessionEvent[]> {
  const { place } = session;
  if (!place) return [];
  const seen = await seeSlot(env, place.url, session);
  if (seen?.bootId === place.bootId) return [eventOf(seen.slot)];
  return [{ type: "hostLost", seenAt: Date.now() }];
}

async function settleReservation(env: Env, session: StoredSession): Promise<void> {
  const { id, org, state, kind: browserKind, createdAt, expiresAt } = session;
  const object = env.ORGS.getByName(org);
  const hold = { id, kind: "browser", browserKind, createdAt, expiresAt } as const;
  switch (state.status) {
    case "creating":
      return;
    case "active":
      return object.keep(hold);
    case "failed":
      return object.drop(id);
    case "released": {
      const { reason: closeReason, endedAt } = state;
      return object.end(hold, { status: "released", closeReason, endedAt });
    }
    case "expired":
      return object.end(hold, {
        status: "expired",
        closeReason: "expired",
        endedAt: state.endedAt,
      });
  }
}

async function writeUsage(env: Env, session: StoredSession): Promise<void> {
  const { id, org: orgId, createdAt, placedAt: startedAt = createdAt, state } = session;
  const endedAt = usageEnd(state);
  await writeSegment(env.DB, { id, orgId, kind: "browser", startedAt, endedAt });
}

function usageEnd(state: SessionState): number | null {
  if (state.status === "released") return state.usedUntil;
  return state.status === "expired" ? state.endedAt : null;
}
