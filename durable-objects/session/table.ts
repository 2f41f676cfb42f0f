import { LIMITS } from "@svc/contract/limits.ts";
import type { Table } from "../live/duty-record.ts";
import { duties, type SessionDuty } from "./duties.ts";
import type { Handoff } from "./handoff.ts";
import { type StoredSession, isRecorded } from "./record.ts";
import { type SessionEvent, step, timers } from "./transitions.ts";

/** The rules by which a session's record changes. */
export const SESSION_TABLE: Table<StoredSession, SessionEvent, SessionDuty> = {
  key: "session",
  step,
  timers: ({ state }) => timers(state),
  duties: (before, after) =>
    duties(before.state, after.state).filter((duty) => duty !== "hiding" || isRecorded(after)),
  // All else is left to the alarm: now it would take the machine from the customer.
  atOnce: (_before, { state }, fresh) =>
    fresh.filter(
      (duty) =>
        duty === "slot" ||
        duty === "presence" ||
        duty === "handoff" ||
        duty === "hiding" ||
        (duty === "reservation" && state.status !== "active"),
    ),
  // The release is forwarded once: the next heartbeat mends what it misses. The question for sockets has a timer.
  unwritten: ["slot", "presence"],
  // The hand-off may change while somebody is being told of it: they are told again.
  isDone: (now, seen, duty) =>
    now.state.status === seen.state.status &&
    ((duty !== "handoff" && duty !== "hiding") || isSame(handoffOf(now), handoffOf(seen))),
  giveUpAt: (state) => (state.status === "creating" ? state.giveUpAt : null),
  eraseAt: (state) => {
    if (state.status === "failed") return 0;
    return "endedAt" in state ? state.endedAt + LIMITS.endedListedMs : null;
  },
};

const handoffOf = ({ state }: StoredSession): Handoff | undefined =>
  state.status === "active" ? state.handoff : undefined;

const isSame = (left: Handoff | undefined, right: Handoff | undefined): boolean =>
  left?.id === right?.id && left?.status === right?.status;
