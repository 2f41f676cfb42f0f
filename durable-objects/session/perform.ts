import { writeSegment } from "../../control-plane/usage.ts";
import { endSlot } from "../host-calls/slots.ts";
import type { HostVerdict } from "../host.ts";
import type { Place } from "./find-slot.ts";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { Duty, SessionState } from "./transitions.ts";

/** Everything a SessionDO keeps. Times are ms since the epoch. */
export interface StoredSession {
  id: string;
  org: string;
  kind: BrowserKind;
  createdAt: number;
  expiresAt: number;
  /** Whether it was created with allowedDomains: only then can they be changed. */
  isConfined: boolean;
  state: SessionState;
  place: Place | null;
  /** Duties not done yet. */
  owed: Duty[];
  /** When to try the owed duties again; null while none is owed. */
  retryAt: number | null;
}

/** What a duty found out about the session's host, if anything. */
export type DutyOutcome = HostVerdict;

const DONE: DutyOutcome = { type: "done" };

/** Does one duty, from the session as it is now; so that doing it late or twice does no harm. */
export async function perform(env: Env, session: StoredSession, duty: Duty): Promise<DutyOutcome> {
  switch (duty) {
    case "reservation":
      await settleReservation(env, session);
      return DONE;
    case "usage":
      await settleUsage(env, session);
      return DONE;
    case "host":
      return settleHost(env, session);
    case "slot":
      if (session.place) await endSlot(env, session.place.url, session);
      return DONE;
  }
}

async function settleReservation(env: Env, session: StoredSession): Promise<void> {
  const { id, org, state, kind: browserKind, createdAt, expiresAt } = session;
  const object = env.ORGS.getByName(org);
  switch (state.status) {
    case "creating":
      return;
    case "active":
      return object.keep({ id, kind: "browser", browserKind, createdAt, expiresAt });
    case "failed":
      return object.drop(id);
    case "released":
      return object.end(id, {
        status: "released",
        closeReason: state.reason,
        endedAt: state.endedAt,
      });
    case "expired":
      return object.end(id, { status: "expired", closeReason: "expired", endedAt: state.endedAt });
  }
}

async function settleUsage(env: Env, session: StoredSession): Promise<void> {
  const { id, org: orgId, createdAt: startedAt, state } = session;
  const endedAt = usageEnd(state);
  await writeSegment(env.DB, { id, orgId, kind: "browser", startedAt, endedAt });
}

function usageEnd(state: SessionState): number | null {
  if (state.status === "released") return state.usedUntil;
  return state.status === "expired" ? state.endedAt : null;
}

/** The host's object keeps what is placed on it: told here of the beginning and the end. */
async function settleHost(env: Env, session: StoredSession): Promise<DutyOutcome> {
  const { id, place, state } = session;
  if (!place) return DONE;
  const host = env.HOSTS.getByName(place.hostId);
  if (state.status === "active") return host.place(id, place.bootId, place.seq);
  await host.forget(id);
  return DONE;
}
