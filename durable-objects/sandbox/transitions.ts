import { LIMITS } from "@svc/contract/limits.ts";
import type { OnTimeout } from "@svc/contract/vm/lifecycle.ts";
import type { GoneReason } from "@svc/contract/vm/sandbox.ts";
import {
  checkpointed,
  checkpointStored,
  lifecycleTimers,
  newLifecycle,
  used,
} from "./lifecycle.ts";
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
import { closeSpan, dropWritten, isBilling, NO_BILL, openSpan, type Span } from "./bill.ts";

/**
 * How long a machine is kept beyond its idle window. A machine that should be paused on a host that cannot pause runs on,
 * not billed, for a day: ending it would lose the customer's work.
 */
const KEPT_MS: Record<OnTimeout, number> = { kill: 0, pause: LIMITS.unpausableKeptMs };

export function timers(state: SandboxState): SandboxTimers {
  switch (state.status) {
    case "starting":
      return { giveUp: state.giveUpAt };
    case "running": {
      const { expiresAt, idleMs, awaySince, onTimeout, bill } = state;
      const lifecycle = lifecycleTimers(state, { lastUsedAt: expiresAt - idleMs, awaySince });
      const idle = expiresAt + KEPT_MS[onTimeout];
      return { ...lifecycle, ...(isBilling(bill) && { window: expiresAt }), idle };
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
  // Nothing is billed beyond the idle window, whatever becomes of the machine.
  const stopped = { ...state, bill: closeSpan(state.bill, state.expiresAt) };
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
      return stopped;
    default:
      return over(stopped, "idle", at);
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
      return usedAt(state, Math.min(event.at, now), now);
    case "idleSet":
      return usedAt({ ...state, idleMs: event.idleMs, expiresAt: 0 }, now, now);
    case "delete":
      return over(state, "deleted", now);
    case "hostEnded":
      return gone(over(state, "machine_died", now), now);
    case "hostLost":
      if (state.checkpoint?.isDurable) return pausedFrom(state, event.seenAt, true);
      return gone(over({ ...state, awaySince: event.seenAt }, "host_lost", now), now);
    case "hostAway": {
      const awaySince = state.awaySince ?? event.seenAt;
      return { ...state, awaySince, bill: closeSpan(state.bill, awaySince) };
    }
    case "reverted":
      return usedAt({ ...state, ...newLifecycle(state.habits, now) }, now, now);
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
  const facts = { idleMs, expiresAt: now + idleMs, onTimeout, awaySince: null };
  return { status: "running", ...facts, ...newLifecycle(habits, now), bill: openSpan(bill, now) };
}

/** The machine does not run any more, and can be resumed. */
function pausedFrom(state: Running, at: number, isDurable: boolean): Paused {
  const { idleMs, expiresAt, onTimeout, habits, awaySince } = state;
  const bill = closeSpan(state.bill, Math.min(at, awaySince ?? at));
  return { status: "paused", idleMs, expiresAt, onTimeout, habits, isDurable, bill };
}

/** The idle window begins anew. A use older than the last known one changes nothing. */
function usedAt(state: Running, at: number, now: number): Running {
  const expiresAt = Math.max(state.expiresAt, at + state.idleMs);
  return expiresAt === state.expiresAt ? state : billing(used({ ...state, expiresAt }, now), now);
}

/** Opens a span when the machine is to be billed: its host is there, and its idle window runs. */
function billing(state: Running, now: number): Running {
  if (state.awaySince !== null || now >= state.expiresAt) return state;
  return { ...state, bill: openSpan(state.bill, now) };
}

/** The sandbox ends. A machine on a host that is away is not billed past the last heartbeat. */
function over(state: Running | Paused, reason: GoneReason, endedAt: number): Releasing {
  const { expiresAt } = state;
  const awaySince = state.status === "running" ? state.awaySince : null;
  const bill = closeSpan(state.bill, Math.min(endedAt, awaySince ?? endedAt));
  return { status: "releasing", reason, endedAt, expiresAt, bill };
}

function gone({ reason, endedAt, expiresAt, bill }: Releasing, at: number): Gone {
  return { status: "gone", reason, endedAt: Math.min(endedAt, at), expiresAt, bill };
}

function billed(state: SandboxState, written: readonly Span[]): SandboxState {
  const bill = dropWritten(state.bill, written);
  return bill === state.bill ? state : { ...state, bill };
}
