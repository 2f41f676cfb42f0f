import type { HandoffStatus } from "@svc/contract/browser/take-over.ts";

/** A session in the hands of a person. Times are ms since the epoch. */
export interface Handoff {
  id: string;
  status: HandoffStatus;
  createdAt: number;
  expiresAt: number;
}

/** What happens to a hand-off besides its end by time. */
export type HandoffEvent =
  | { type: "handoffBegan"; id: string; expiresAt: number }
  | { type: "handoffTaken"; id: string }
  | { type: "handoffEnded"; id: string; as: "completed" | "cancelled" };

/** Whether a person has the session, or may come for it: until then it waits, and tools answer `HandoffActive`. */
export const isOpen = (handoff: Handoff | undefined): handoff is Handoff =>
  handoff?.status === "pending" || handoff?.status === "active";

/** What an event makes of a session's hand-off. One at a time: what names another one says nothing. */
export function stepHandoff(
  handoff: Handoff | undefined,
  event: HandoffEvent,
  now: number,
): Handoff | undefined {
  if (event.type === "handoffBegan") {
    const { id, expiresAt } = event;
    return isOpen(handoff) ? handoff : { id, status: "pending", createdAt: now, expiresAt };
  }
  if (!isOpen(handoff) || handoff.id !== event.id) return handoff;
  return { ...handoff, status: event.type === "handoffTaken" ? "active" : event.as };
}
