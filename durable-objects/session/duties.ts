import type { SessionState } from "./transitions.ts";

/**
 * What a change obliges a session's object to. `reservation`: keep it, or free it. `usage`: write the bill. `host`: tell
 * its host's object. `slot`: have the host end the session; told once, the others are repeated until done.
 */
export type SessionDuty = "reservation" | "usage" | "host" | "slot";

/** The duties of going from one state to another. */
export function duties(before: SessionState, after: SessionState): SessionDuty[] {
  if (before.status === after.status) return [];
  if (after.status === "active") return ["reservation", "usage", "host"];
  if (before.status === "creating") return ["reservation"];
  return ["reservation", "usage", "host", "slot"];
}
