import { closeSpan, openSpan } from "./bill.ts";
import { used } from "./lifecycle.ts";
import type { Running, SandboxEvent } from "./state.ts";

type Use = Extract<SandboxEvent, { type: "activity" | "called" | "looked" | "idleSet" }>;

/** A use begins the idle window anew. Whether it wakes a parked machine too depends on where it went. */
export function fromUse(state: Running, event: Use, now: number): Running {
  switch (event.type) {
    case "activity": {
      const seen = usedAt(state, Math.min(event.at, now), now);
      return event.isParked ? seen : used(seen, now);
    }
    case "called":
      return used(usedNow(state, now), now);
    case "looked":
      return usedNow(state, now);
    case "idleSet":
      return usedNow(state, now, event.idleMs);
  }
}

/**
 * The idle window begins anew, as the host has said: what was in use was billed all the time. A use older than the last
 * known one changes nothing.
 */
function usedAt(state: Running, at: number, now: number): Running {
  const expiresAt = Math.max(state.expiresAt, at + state.idleMs);
  if (expiresAt === state.expiresAt) return state;
  return billing({ ...state, expiresAt, isExpired: false, isToSleep: false }, now);
}

/** The idle window begins anew, of this or of another length. Nothing is billed between the end of the one before and now. */
export function usedNow(state: Running, now: number, idleMs = state.idleMs): Running {
  const bill = state.isExpired ? stopped(state, now) : state.bill;
  return usedAt({ ...state, idleMs, bill, expiresAt: 0 }, now, now);
}

/** The bill of a machine that is not billed from `at` on, nor beyond its idle window or while its host is away. */
export const stopped = ({ bill, expiresAt, awaySince }: Running, at: number) =>
  closeSpan(bill, Math.min(at, expiresAt, awaySince ?? at));

/** Opens a span when the machine is to be billed: its host is there, and its idle window runs. */
export function billing(state: Running, now: number): Running {
  if (state.awaySince !== null || now >= state.expiresAt) return state;
  return { ...state, bill: openSpan(state.bill, now) };
}

/** The host is silent: nothing is billed from the last word of the host on. */
export function awayFrom(state: Running, seenAt: number): Running {
  const awaySince = state.awaySince ?? seenAt;
  return { ...state, awaySince, bill: stopped(state, awaySince) };
}
