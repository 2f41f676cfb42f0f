import { isOpen, isTaken } from "./handoff.ts";
import type { SessionState } from "./state.ts";

/**
 * What a change obliges a session's object to. `reservation`: keep it, or free it. `usage`: write the bill. `host`: tell
 * its host's object. `handoff`: tell the object of its viewers who has the session. `hiding`: have its recording show again what is typed. `slot`: have the host end the session.
 * `presence`: ask the host for its sockets. The last two are done once, the others are repeated until done.
 */
export type SessionDuty =
  | "reservation"
  | "usage"
  | "host"
  | "handoff"
  | "hiding"
  | "slot"
  | "presence";

/** The duties of going from one state to another. */
export function duties(before: SessionState, after: SessionState): SessionDuty[] {
  if (before.status === after.status) return dutiesOfLife(before, after);
  if (after.status === "active") return ["reservation", "usage", "host"];
  if (before.status === "creating") return ["reservation"];
  return ["reservation", "usage", "host", "slot"];
}

function dutiesOfLife(before: SessionState, after: SessionState): SessionDuty[] {
  return [
    ...(isAskedAgain(before, after) ? (["presence"] as const) : []),
    ...(isHandedOn(before, after) ? (["handoff"] as const) : []),
    ...(isGivenBack(before, after) ? (["hiding"] as const) : []),
  ];
}

/** Whether somebody has come for the session, or has given it back. */
function isHandedOn(before: SessionState, after: SessionState): boolean {
  if (before.status !== "active" || after.status !== "active") return false;
  return isTaken(before.handoff) !== isTaken(after.handoff);
}

/** Whether a hand-off is over. */
function isGivenBack(before: SessionState, after: SessionState): boolean {
  if (before.status !== "active" || after.status !== "active") return false;
  return isOpen(before.handoff) && !isOpen(after.handoff);
}

function isAskedAgain(before: SessionState, after: SessionState): boolean {
  if (before.status !== "active" || after.status !== "active") return false;
  return (after.claim?.asked ?? 0) > (before.claim?.asked ?? 0);
}
