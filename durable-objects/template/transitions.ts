import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";

/** What every state keeps. Times are ms since the epoch. */
interface Common {
  /** Steps that are done. */
  step: number;
  /** Every host that was asked to build the template and has not let go of it yet. */
  hosts: readonly string[];
  /** When a host first took the build: from then on it is billed. Null while none has. */
  takenAt: number | null;
}
export interface Building extends Common {
  status: "building";
  /** The host that builds it; null while one is looked for. */
  host: string | null;
  /** When that host was last heard, or since when a host is looked for. */
  heardAt: number;
  /** How often the build was begun anew because a host had lost it. */
  restarts: number;
  /** When the build has taken too long. */
  endsAt: number;
}
export interface Ready extends Common {
  status: "ready";
  /** The host that has it. */
  host: string;
  readyAt: number;
}
export interface Failed extends Common {
  status: "failed";
  error: { step: number; message: string };
  endedAt: number;
}
/** Nobody sees the template any more; hosts may still have to let go of it. */
export interface Deleted extends Common {
  status: "deleted";
  endedAt: number;
}
export type TemplateState = Building | Ready | Failed | Deleted;

export type TemplateEvent =
  /** A host is, or was, asked for the build. */
  | { type: "asked"; host: string }
  | { type: "placed"; host: string }
  /** The host says how far it is. */
  | { type: "heard"; step: number }
  | { type: "built"; step: number }
  | { type: "broke"; step: number; message: string }
  /** The host does not know the build any more. */
  | { type: "forgotten" }
  | { type: "cancel" }
  | { type: "delete" }
  /** A host has let go of it. */
  | { type: "released"; host: string }
  | { type: "tick" };

export const CANCELLED = "The build was cancelled.";
const TOO_LONG = "The build took too long.";
const NO_HOST = "No host could take the build.";
const LOST = "The hosts that built it were lost.";

export const newBuild = (now: number): Building => ({
  status: "building",
  step: 0,
  hosts: [],
  takenAt: null,
  host: null,
  heardAt: now,
  restarts: 0,
  endsAt: now + TEMPLATE_LIMITS.hostWaitMs + TEMPLATE_LIMITS.buildMs,
});

/** When something happens by itself. */
export function timers(state: TemplateState): Partial<Record<"end" | "wait" | "lost", number>> {
  if (state.status !== "building") return {};
  const { endsAt: end, host, heardAt } = state;
  return host === null
    ? { end, wait: heardAt + TEMPLATE_LIMITS.hostWaitMs }
    : { end, lost: heardAt + TEMPLATE_LIMITS.hostLostMs };
}

/** THE transition table of a template. Once a build is over only a deletion follows, which is final. */
export function step(state: TemplateState, event: TemplateEvent, now: number): TemplateState {
  const current = runTimers(state, now);
  if (event.type === "asked") return asked(current, event.host);
  if (event.type === "released") return released(current, event.host);
  if (event.type === "delete") return deleted(current, now);
  return current.status === "building" ? fromBuilding(current, event, now) : current;
}

/** Timers that are due decide first, each at its own time. */
function runTimers(state: TemplateState, now: number): TemplateState {
  if (state.status !== "building") return state;
  const due = Object.entries(timers(state))
    .filter(([, at]) => at <= now)
    .toSorted(([, left], [, right]) => left - right)[0];
  if (!due) return state;
  const [name, at] = due;
  if (name === "lost") return runTimers(restarted(state, at), now);
  return failed(state, name === "wait" ? NO_HOST : TOO_LONG, state.step, at);
}

function fromBuilding(
  state: Building,
  event: Exclude<TemplateEvent, { type: "asked" | "released" | "delete" }>,
  now: number,
): TemplateState {
  switch (event.type) {
    case "placed": {
      const { hosts } = asked(state, event.host);
      const takenAt = state.takenAt ?? now;
      return { ...state, hosts, takenAt, host: event.host, heardAt: now };
    }
    case "heard":
      return state.host === null ? state : { ...state, step: event.step, heardAt: now };
    case "built": {
      const { hosts, takenAt, host } = state;
      if (host === null) return state;
      return { status: "ready", step: event.step, hosts, takenAt, host, readyAt: now };
    }
    case "broke":
      return failed(state, event.message, event.step, now);
    case "forgotten":
      return state.host === null ? state : restarted(state, now);
    case "cancel":
      return failed(state, CANCELLED, state.step, now);
    case "tick":
      return state;
  }
}

/** Another host, or another start of the same host, begins anew; steps that have layers there are not run again. */
function restarted(state: Building, now: number): Building | Failed {
  const restarts = state.restarts + 1;
  if (restarts > TEMPLATE_LIMITS.restarts) return failed(state, LOST, state.step, now);
  return { ...state, host: null, heardAt: now, restarts, step: 0 };
}

function failed(state: Building, message: string, at: number, endedAt: number): Failed {
  const { step: done, hosts, takenAt } = state;
  return { status: "failed", step: done, hosts, takenAt, error: { step: at, message }, endedAt };
}

/** A template that is being built cannot be deleted. */
function deleted(state: TemplateState, now: number): TemplateState {
  if (state.status === "building" || state.status === "deleted") return state;
  const { step: done, hosts, takenAt } = state;
  return { status: "deleted", step: done, hosts, takenAt, endedAt: now };
}

function asked(state: TemplateState, host: string): TemplateState {
  return state.hosts.includes(host) ? state : { ...state, hosts: [...state.hosts, host] };
}

function released(state: TemplateState, host: string): TemplateState {
  const hosts = state.hosts.filter((other) => other !== host);
  return hosts.length === state.hosts.length ? state : { ...state, hosts };
}

/** Hosts that have to let go of the template: all but the host that has it or builds it. */
export function strangers(state: TemplateState): string[] {
  const owner = state.status === "ready" || state.status === "building" ? state.host : null;
  return state.hosts.filter((host) => host !== owner);
}
