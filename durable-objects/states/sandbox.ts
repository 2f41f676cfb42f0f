import { LIMITS } from "@svc/contract/limits.ts";
import type { OnTimeout } from "@svc/contract/vm/lifecycle.ts";
import type { GoneReason } from "@svc/contract/vm/sandbox.ts";
import {
  type Bill,
  closeSpan,
  dropWritten,
  isBilling,
  NO_BILL,
  openSpan,
  type Span,
} from "./spans.ts";

export interface Starting {
  status: "starting";
  giveUpAt: number;
  bill: Bill;
}
export interface Running {
  status: "running";
  /** The rolling idle window: it ends at `expiresAt` unless something happens before. */
  idleMs: number;
  expiresAt: number;
  onTimeout: OnTimeout;
  /** When its host was last heard, while that is away; null while it is registered. */
  awaySince: number | null;
  bill: Bill;
}
/** Saved with RAM and disk on its host; it holds no place and costs nothing. */
export interface Paused {
  status: "paused";
  idleMs: number;
  /** When its idle window ended, or would have. */
  expiresAt: number;
  onTimeout: OnTimeout;
  bill: Bill;
}
/** It is over; its host has not confirmed yet that the machine is gone. */
export interface Releasing {
  status: "releasing";
  reason: GoneReason;
  endedAt: number;
  expiresAt: number;
  bill: Bill;
}
export interface Gone {
  status: "gone";
  reason: GoneReason;
  endedAt: number;
  expiresAt: number;
  bill: Bill;
}
/** The create did not succeed: the sandbox never was. */
export interface Failed {
  status: "failed";
  bill: Bill;
}
export type SandboxState = Starting | Running | Paused | Releasing | Gone | Failed;

export type SandboxEvent =
  | { type: "placed"; idleMs: number; onTimeout: OnTimeout }
  | { type: "createFailed" }
  /** Something used it at `at`, which may be a while ago: the host tells of it with its heartbeats. */
  | { type: "activity"; at: number }
  | { type: "idleSet"; idleMs: number }
  | { type: "delete" }
  /** The host has saved it, at `at`. */
  | { type: "paused"; at: number }
  | { type: "resumed" }
  /** The host has ended the machine. */
  | { type: "hostFreed" }
  /** The machine ended by itself. */
  | { type: "hostEnded" }
  | { type: "hostAway"; seenAt: number }
  | { type: "hostBack" }
  | { type: "hostLost"; seenAt: number }
  | { type: "billed"; spans: readonly Span[] }
  | { type: "tick" };

/** The times at which something happens by itself. Names are for logs and tests. */
export type SandboxTimers = Partial<Record<"giveUp" | "window" | "idle" | "forced", number>>;

/**
 * How long a machine is kept beyond its idle window. One that should be paused on a host that cannot runs
 * on, not billed, for a day, because ending it would lose the customer's work.
 */
const KEPT_MS: Record<OnTimeout, number> = { kill: 0, pause: LIMITS.unpausableKeptMs };

export function timers(state: SandboxState): SandboxTimers {
  switch (state.status) {
    case "starting":
      return { giveUp: state.giveUpAt };
    case "running": {
      const idle = state.expiresAt + KEPT_MS[state.onTimeout];
      return isBilling(state.bill) ? { window: state.expiresAt, idle } : { idle };
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
  const current = runTimers(state, now);
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
  return due ? runTimers(rung(state, due[1]), now) : state;
}

/** What the earliest timer of a state does, at its own time. */
function rung(state: SandboxState, at: number): SandboxState {
  switch (state.status) {
    case "starting":
      return { status: "failed", bill: state.bill };
    case "running": {
      // Nothing is billed beyond the idle window, whatever becomes of the machine.
      const stopped = { ...state, bill: closeSpan(state.bill, state.expiresAt) };
      return at < state.expiresAt + KEPT_MS[state.onTimeout] ? stopped : over(stopped, "idle", at);
    }
    case "releasing":
      return gone(state, at);
    case "paused":
    case "gone":
    case "failed":
      return state;
  }
}

function fromStarting(state: Starting, event: SandboxEvent, now: number): SandboxState {
  switch (event.type) {
    case "placed": {
      const { idleMs, onTimeout } = event;
      const bill = openSpan(NO_BILL, now);
      return {
        status: "running",
        idleMs,
        expiresAt: now + idleMs,
        onTimeout,
        awaySince: null,
        bill,
      };
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
      return used(state, Math.min(event.at, now), now);
    case "idleSet":
      return used({ ...state, idleMs: event.idleMs, expiresAt: 0 }, now, now);
    case "delete":
      return over(state, "deleted", now);
    case "hostEnded":
      return gone(over(state, "machine_died", now), now);
    case "hostLost":
      return gone(over({ ...state, awaySince: event.seenAt }, "host_lost", now), now);
    case "hostAway": {
      const awaySince = state.awaySince ?? event.seenAt;
      return { ...state, awaySince, bill: closeSpan(state.bill, awaySince) };
    }
    case "paused": {
      const { idleMs, expiresAt, onTimeout, awaySince } = state;
      const bill = closeSpan(state.bill, Math.min(event.at, awaySince ?? event.at));
      return { status: "paused", idleMs, expiresAt, onTimeout, bill };
    }
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
      const { idleMs, onTimeout } = state;
      const bill = openSpan(state.bill, now);
      const expiresAt = now + idleMs;
      return { status: "running", idleMs, expiresAt, onTimeout, awaySince: null, bill };
    }
    case "idleSet":
      return { ...state, idleMs: event.idleMs, expiresAt: now + event.idleMs };
    case "delete":
      return over(state, "deleted", now);
    case "hostLost":
      return gone(over(state, "host_lost", now), now);
    case "placed":
    case "createFailed":
    case "activity":
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

/** The idle window begins anew. What is older than the last activity says nothing. */
function used(state: Running, at: number, now: number): Running {
  const expiresAt = Math.max(state.expiresAt, at + state.idleMs);
  return expiresAt === state.expiresAt ? state : billing({ ...state, expiresAt }, now);
}

/** Opens a span when there is something to bill: the host is there, and the idle window runs. */
function billing(state: Running, now: number): Running {
  if (state.awaySince !== null || now >= state.expiresAt) return state;
  return { ...state, bill: openSpan(state.bill, now) };
}

/** A machine on a host that is away is not billed past the last heartbeat. */
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
