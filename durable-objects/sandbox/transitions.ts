import { LIMITS } from "@svc/contract/limits.ts";
import type { OnTimeout } from "@svc/contract/vm/lifecycle.ts";
import type { GoneReason } from "@svc/contract/vm/sandbox.ts";
import { checkpointed, checkpointStored, lifecycleTimers, newLifecycle } from "./lifecycle.ts";
import type {
  Gone,
  Paused,
  Releasing,
  Running,
  SandboxEvent,
  SandboxState,
  SandboxTimers,
  Starting,
} from "./state.ts";
import { dropWritten, NO_BILL, openSpan, type Span } from "./bill.ts";
import { awayFrom, billing, fromUse, stopped, usedNow } from "./window.ts";

/**
 * How long a machine is kept beyond its idle window when its host neither rests it nor says that it is in use. A machine
 * that should be paused runs on, not billed, for a day: ending it would lose the customer's work.
 */
const KEPT_MS: Record<OnTimeout, number> = {
  kill: LIMITS.unaskedKeptMs,
  pause: LIMITS.unpausableKeptMs,
};

export function timers(state: SandboxState): SandboxTimers {
  switch (state.status) {
    case "starting":
      return { giveUp: state.giveUpAt };
    case "running": {
      const { expiresAt, idleMs, awaySince, onTimeout, isExpired } = state;
      const lifecycle = lifecycleTimers(state, { lastUsedAt: expiresAt - idleMs, awaySince });
      const idle = expiresAt + KEPT_MS[onTimeout];
      return { ...lifecycle, ...(!isExpired && { window: expiresAt }), idle };
    }
    case "releasing":
      return { forced: state.endedAt + LIMITS.backgroundReleaseMs };
    case "paused":
    case "gone":
    case "failed":
      return {};
  }
}

/** THE transition table of a sandbox: what an event makes of it at a time. `gone` and `failed` are final. */
export function step(state: SandboxState, event: SandboxEvent, now: number): SandboxState {
  // An event may come late, and be of a time after which a timer was due.
  return runTimers(after(runTimers(state, now), event, now), now);
}

function after(current: SandboxState, event: SandboxEvent, now: number): SandboxState {
  if (event.type === "billed") return billed(current, event.spans);
  switch (current.status) {
    case "starting":
      return fromStarting(current, event, now);
    case "running":
      return fromRunning(current, event, now);
    case "paused":
      return fromPaused(current, event, now);
    case "releasing":
      return fromReleasing(current, event);
    case "gone":
    case "failed":
      return current;
  }
}

/** Timers that are due decide first, each at its own time: a late alarm changes nothing. */
function runTimers(state: SandboxState, now: number): SandboxState {
  const due = Object.entries(timers(state))
    .filter(([, at]) => at <= now)
    .toSorted(([, left], [, right]) => left - right)[0];
  return due ? runTimers(afterTimer(state, due[0], due[1]), now) : state;
}

/** What a timer of a state does, at its own time. */
function afterTimer(state: SandboxState, name: string, at: number): SandboxState {
  switch (state.status) {
    case "starting":
      return { status: "failed", bill: state.bill };
    case "running":
      return runningAfterTimer(state, name, at);
    case "releasing":
      return gone(state, at);
    case "paused":
    case "gone":
    case "failed":
      return state;
  }
}

function runningAfterTimer(state: Running, name: string, at: number): SandboxState {
  switch (name) {
    case "park":
      return { ...state, parkedAt: at };
    case "hibernate":
      return { ...state, isToSleep: true };
    case "checkpoint":
      return { ...state, isToSave: true };
    case "lost":
      return pausedFrom(state, at, true);
    case "window":
      return { ...state, isExpired: true };
    default:
      return over(state, "idle", at);
  }
}

function fromStarting(state: Starting, event: SandboxEvent, now: number): SandboxState {
  switch (event.type) {
    case "placed": {
      const { idleMs, onTimeout, habits } = event;
      return runningSince(now, { idleMs, onTimeout, habits, bill: NO_BILL });
    }
    case "createFailed":
      return { status: "failed", bill: state.bill };
    case "delete": {
      const { bill } = state;
      return { status: "gone", reason: "deleted", endedAt: now, expiresAt: now, bill };
    }
    case "activity":
    case "called":
    case "looked":
    case "notRested":
    case "idleEnded":
    case "idleSet":
    case "paused":
    case "resumed":
    case "reverted":
    case "checkpointed":
    case "stored":
    case "hostFreed":
    case "hostEnded":
    case "hostAway":
    case "hostBack":
    case "hostLost":
    case "billed":
    case "tick":
      return state;
  }
}

function fromRunning(state: Running, event: SandboxEvent, now: number): SandboxState {
  switch (event.type) {
    case "activity":
    case "called":
    case "looked":
    case "idleSet":
      return fromUse(state, event, now);
    case "notRested":
      return state.isExpired ? { ...state, bill: stopped(state, now) } : state;
    case "idleEnded":
      return gone(over(state, "idle", Math.min(state.expiresAt, now)), now);
    case "delete":
      return over(state, "deleted", now);
    case "hostEnded":
      return gone(over(state, "machine_died", now), now);
    case "hostLost":
      if (state.checkpoint?.isDurable) return pausedFrom(state, event.seenAt, true);
      return gone(over({ ...state, awaySince: event.seenAt }, "host_lost", now), now);
    case "hostAway":
      return awayFrom(state, event.seenAt);
    case "reverted":
      return usedNow({ ...state, ...newLifecycle(state.habits, now) }, now);
    case "paused":
      return pausedFrom(state, event.at, event.isDurable);
    case "checkpointed":
      return checkpointed(state, Math.min(event.at, now), event.isDurable);
    case "stored":
      return checkpointStored(state);
    case "hostBack":
      return state.awaySince === null ? state : billing({ ...state, awaySince: null }, now);
    case "placed":
    case "createFailed":
    case "resumed":
    case "hostFreed":
    case "billed":
    case "tick":
      return state;
  }
}

function fromPaused(state: Paused, event: SandboxEvent, now: number): SandboxState {
  switch (event.type) {
    case "resumed": {
      const { idleMs, onTimeout, habits, bill } = state;
      return runningSince(now, { idleMs, onTimeout, habits, bill });
    }
    case "stored":
      return state.isDurable ? state : { ...state, isDurable: true };
    case "idleSet":
      return { ...state, idleMs: event.idleMs, expiresAt: now + event.idleMs };
    case "delete":
      return over(state, "deleted", now);
    case "hostLost":
      return state.isDurable ? state : gone(over(state, "host_lost", now), now);
    case "placed":
    case "createFailed":
    case "activity":
    case "called":
    case "looked":
    case "notRested":
    case "idleEnded":
    case "checkpointed":
    case "reverted":
    case "paused":
    case "hostFreed":
    case "hostEnded":
    case "hostAway":
    case "hostBack":
    case "billed":
    case "tick":
      return state;
  }
}

function fromReleasing(state: Releasing, event: SandboxEvent): SandboxState {
  const isFreed = ["hostFreed", "hostEnded", "hostLost"].includes(event.type);
  return isFreed ? gone(state, state.endedAt) : state;
}

/** The machine begins to run at `now`, and to cost. */
function runningSince(
  now: number,
  { idleMs, onTimeout, habits, bill }: Pick<Running, "idleMs" | "onTimeout" | "habits" | "bill">,
): Running {
  const window = { idleMs, expiresAt: now + idleMs, isExpired: false };
  const facts = { ...window, onTimeout, awaySince: null };
  return { status: "running", ...facts, ...newLifecycle(habits, now), bill: openSpan(bill, now) };
}

/** The machine does not run any more, and can be resumed. */
function pausedFrom(state: Running, at: number, isDurable: boolean): Paused {
  const { idleMs, expiresAt, onTimeout, habits } = state;
  const bill = stopped(state, at);
  return { status: "paused", idleMs, expiresAt, onTimeout, habits, isDurable, bill };
}

/** The sandbox ends. A machine on a host that is away is not billed past the last heartbeat. */
function over(state: Running | Paused, reason: GoneReason, endedAt: number): Releasing {
  const { expiresAt } = state;
  const bill = state.status === "running" ? stopped(state, endedAt) : state.bill;
  return { status: "releasing", reason, endedAt, expiresAt, bill };
}

function gone({ reason, endedAt, expiresAt, bill }: Releasing, at: number): Gone {
  return { status: "gone", reason, endedAt: Math.min(endedAt, at), expiresAt, bill };
}

function billed(state: SandboxState, written: readonly Span[]): SandboxState {
  const bill = dropWritten(state.bill, written);
  return bill === state.bill ? state : { ...state, bill };
}
