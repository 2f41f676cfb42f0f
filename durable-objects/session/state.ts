import type { CloseReason } from "@svc/contract/browser/session.ts";
import type { Handoff } from "./handoff.ts";

/** How the last client went: it never came, it said goodbye, or its connection broke. */
export type Detached = { how: "never" | "clean" | "dropped"; since: number };

/** A leased session ignores its clients' coming and going; it ends `idleMs` after the last renewal. */
export interface Lease {
  idleMs: number;
  renewedAt: number;
}

/** Customer sockets of the session, ever: the host alone counts them, and only up. */
export interface SocketCount {
  opens: number;
  closes: number;
}

/** A socket that was opened through this object and that no count of the host holds yet. */
export interface Claim {
  /** Its number among the host's `opens`. */
  opens: number;
  /** When it was opened, or when the host was last asked for it. */
  since: number;
  /** How often the host was asked. */
  asked: number;
}

export interface Creating {
  status: "creating";
  giveUpAt: number;
}
export interface Active {
  status: "active";
  expiresAt: number;
  /** null while a customer socket is open, by the host's count. */
  detached: Detached | null;
  /** The host's last count; absent before its first report. */
  sockets?: SocketCount;
  /** The newest socket that is still to be counted; absent when there is none. */
  claim?: Claim;
  /** Until when a client is waited for whose socket the host is opening; absent when there is none. */
  awaitedUntil?: number;
  /** When the session's pool was last heard, while it is away; null while it is registered. */
  awaySince: number | null;
  lease: Lease | null;
  /** The last time that a person was to take it over; absent when there was none. */
  handoff?: Handoff;
}
export interface Released {
  status: "released";
  reason: Exclude<CloseReason, "expired">;
  endedAt: number;
  /** Until when it is billed: a host that is away is not billed past its last heartbeat. */
  usedUntil: number;
}
export interface Expired {
  status: "expired";
  endedAt: number;
}
/** The create did not succeed: the session never was. */
export interface Failed {
  status: "failed";
}
export type SessionState = Creating | Active | Released | Expired | Failed;
