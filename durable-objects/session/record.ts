import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { ProxyApplied } from "@svc/contract/browser/proxy.ts";
import type { Rung } from "@svc/contract/host-protocol/exits.ts";
import type { Place } from "../host-calls/place.ts";
import type { LiveRecord } from "../live/live-record.ts";
import type { Signal } from "../live/signal.ts";
import type { SessionDuty } from "./duties.ts";
import type { SessionState } from "./state.ts";
import type { SessionEvent } from "./transitions.ts";

/** Everything a SessionDO stores. Times are ms since the epoch. */
export interface StoredSession {
  id: string;
  org: string;
  kind: BrowserKind;
  createdAt: number;
  expiresAt: number;
  /** Whether it was created with allowedDomains: only then can they be changed. */
  isConfined: boolean;
  /** Absent in records of an earlier version, of sessions that may be recorded. */
  isRecorded?: boolean;
  /** The profile that it began with. Null or absent: none. */
  profileId?: string | null;
  state: SessionState;
  place: Place | null;
  /** When it got its slot: it is billed from then on. Absent before, and in records of an earlier version. */
  placedAt?: number;
  /** The exit by which it left from the start; null or absent: from its host. */
  proxy?: ProxyApplied | null;
  /** What the proxy ladder has climbed to since. */
  rungs?: Rung[];
  owed: SessionDuty[];
  retryAt: number | null;
}

/** Whether a recording may have to hide what is typed. */
export const isRecorded = (session: StoredSession): boolean => session.isRecorded !== false;

/** What an operation on a session works with. */
export interface LiveSession {
  env: Env;
  record: LiveRecord<StoredSession, SessionEvent, SessionDuty>;
  /** Sent with each change of state. */
  changes: Signal;
}
