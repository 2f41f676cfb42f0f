import type { SlotHandoff } from "@svc/contract/host-protocol/slots.ts";
import type { HandoffKind, HandoffStatus } from "@svc/contract/browser/take-over.ts";

/** The purpose and the conditions with which a hand-off begins. */
export interface HandoffWish {
  /** Absent in records of an earlier version: `takeOver`. */
  kind?: HandoffKind;
  instructions?: string;
  successUrl?: string;
}

/** A session in the hands of a person, or of its own login. Times are ms since the epoch. */
export interface Handoff extends HandoffWish {
  id: string;
  /** Which of the session's hand-offs it is, from 1 on. Absent in records of an earlier version. */
  number?: number;
  status: HandoffStatus;
  createdAt: number;
  expiresAt: number;
  /** The URL of the page when the session was given back. */
  finalUrl?: string;
}

/** How a hand-off ends besides by time. */
export interface HandoffEnd {
  as: "completed" | "cancelled";
  finalUrl?: string;
}

/** What happens to a hand-off besides its end by time. */
export type HandoffEvent =
  | { type: "handoffBegan"; id: string; expiresAt: number; wish: HandoffWish }
  | { type: "handoffTaken"; id: string }
  | ({ type: "handoffEnded"; id: string } & HandoffEnd);

/** Whether a person has the session, or may come for it: until then it waits, and tools answer `HandoffActive`. */
export const isOpen = (handoff: Handoff | undefined): handoff is Handoff =>
  handoff?.status === "pending" || handoff?.status === "active";

/** Whether somebody has the session now: observers are shown nothing meanwhile. */
export const isTaken = (handoff: Handoff | undefined): handoff is Handoff =>
  handoff?.status === "active";

const numberOf = (handoff: Handoff | undefined): number => handoff?.number ?? 0;

/** The number of the news that a hand-off is open, or over: news that was overtaken is known by it. */
export const newsOf = (handoff: Handoff): SlotHandoff => {
  const isNews = isOpen(handoff);
  return { seq: 2 * numberOf(handoff) + (isNews ? 0 : 1), isOpen: isNews };
};

/** What an event makes of a session's hand-off. One at a time: what names another one says nothing. */
export function stepHandoff(
  handoff: Handoff | undefined,
  event: HandoffEvent,
  now: number,
): Handoff | undefined {
  if (event.type === "handoffBegan") {
    if (isOpen(handoff)) return handoff;
    const { id, expiresAt, wish } = event;
    // The service has the session at once: nobody has to come.
    const status = wish.kind === "autologin" ? "active" : "pending";
    const number = numberOf(handoff) + 1;
    return { id, number, status, createdAt: now, expiresAt, ...wish };
  }
  if (!isOpen(handoff) || handoff.id !== event.id) return handoff;
  // No person takes the place of the service.
  if (event.type === "handoffTaken")
    return handoff.kind === "autologin" ? handoff : { ...handoff, status: "active" };
  const { as: status, finalUrl } = event;
  return { ...handoff, status, ...(finalUrl !== undefined && { finalUrl }) };
}
