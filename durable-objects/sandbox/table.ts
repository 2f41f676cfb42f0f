import { LIMITS } from "@svc/contract/limits.ts";
import { OwnRecord, SETTLE_MS } from "../live/stored-record.ts";
import type { StoredSandbox } from "./record.ts";
import { step, timers } from "./transitions.ts";
import type { SandboxEvent } from "./state.ts";
import { duties, type Duty, parkedSince, wantsCheckpoint } from "./duties.ts";

const retryMs = 5000;

/** What an event did. */
export interface Applied {
  sandbox: StoredSandbox;
  /** New duties, to be done now. */
  fresh: Duty[];
}

/** The transitions of a sandbox's one record, and its alarm. All of it is synchronous but the alarm. */
export class SandboxStore extends OwnRecord<StoredSandbox> {
  constructor(storage: DurableObjectStorage) {
    super(storage, "sandbox", ({ state }) => (state.status === "starting" ? state.giveUpAt : null));
  }

  /** Applies an event at a time, with facts that came with it. Null when there is no sandbox. */
  apply(event: SandboxEvent, now: number, facts: Partial<StoredSandbox> = {}): Applied | null {
    const before = this.load();
    if (!before) return null;
    const state = step(before.state, event, now);
    if (state === before.state) {
      const sandbox = { ...before, ...facts };
      if (Object.keys(facts).length > 0) this.save(sandbox);
      return { sandbox, fresh: [] };
    }
    const expiresAt = state.status === "running" ? state.expiresAt : before.listedExpiresAt;
    const isListed = Math.abs(expiresAt - before.listedExpiresAt) < LIMITS.listedExpiryMs;
    const isNew = before.state.status === "starting" && state.status === "running";
    const fresh = duties(before.state, state);
    // The list learns of a moved deadline too, though not of each step of it.
    if (!isListed && !isNew && !fresh.includes("index")) fresh.push("index");
    const lasting = fresh.filter((duty) => duty !== "machine");
    const owed = [...new Set([...before.owed, ...lasting])];
    // In the same write as the change: an object that dies before it does its duty is woken to do it.
    const retryAt = lasting.length > 0 ? now + (isNew ? SETTLE_MS : retryMs) : before.retryAt;
    const listedExpiresAt = fresh.includes("index") || isNew ? expiresAt : before.listedExpiresAt;
    const sandbox = { ...before, ...facts, state, owed, retryAt, listedExpiresAt };
    this.save(sandbox);
    // With the record, not after it: an object that dies in between would owe until somebody looks at it.
    const next = nextOf(sandbox);
    if (lasting.length > 0 && next !== null) this.ring(next);
    // A new sandbox's duties are left to the alarm: now they would take the machine from its client.
    return { sandbox, fresh: isNew ? [] : fresh };
  }

  /** Notes something that is begun, with the duty to end it should this object die meanwhile. */
  owe(duty: Duty, at: number, facts: Partial<StoredSandbox>): void {
    const before = this.load();
    if (!before) return;
    const owed = [...new Set([...before.owed, duty])];
    const sandbox = { ...before, ...facts, owed, retryAt: before.retryAt ?? at };
    this.save(sandbox);
    const next = nextOf(sandbox);
    if (next !== null) this.ring(next);
  }

  /** Ticks off a duty, unless the sandbox has moved on since and owes it anew. */
  done(duty: Duty, seen: StoredSandbox): void {
    const sandbox = this.load();
    if (!sandbox || !isSame(sandbox, seen, duty)) return;
    const owed = sandbox.owed.filter((other) => other !== duty);
    if (owed.length === sandbox.owed.length) return;
    this.save({ ...sandbox, owed, retryAt: owed.length === 0 ? null : sandbox.retryAt });
  }

  /** Notes that duties failed: the alarm tries them again. */
  retryLater(now: number, duty: Duty): void {
    const sandbox = this.load();
    // A try stops the guest for a moment: not every few seconds.
    const isSlow = stopsGuest(duty) && sandbox?.owed.every(stopsGuest);
    const later = now + (isSlow ? LIMITS.pauseRetryMs : retryMs);
    if (sandbox) this.save({ ...sandbox, retryAt: later });
  }

  /** Sets the alarm to the first thing that will happen by itself. */
  rearm(): Promise<void> {
    return this.arm(() => {
      const sandbox = this.load();
      return { next: sandbox && nextOf(sandbox) };
    });
  }

  /** Whether nothing needs the record any more. */
  isDue(now: number): boolean {
    const sandbox = this.load();
    return sandbox !== null && now >= (eraseAt(sandbox) ?? Infinity);
  }
}

const stopsGuest = (duty: Duty): boolean => duty === "pause" || duty === "checkpoint";

/** Whether what a duty was done from is how the sandbox still is. */
function isSame(now: StoredSandbox, seen: StoredSandbox, duty: Duty): boolean {
  if (duty === "snapshot") return !now.taking;
  if (duty === "checkpoint") return !wantsCheckpoint(now.state);
  if (duty === "park") return parkedSince(now.state) === parkedSince(seen.state);
  if (duty === "usage") return now.state.bill === seen.state.bill || sameBill(now, seen);
  return now.state.status === seen.state.status && now.listedExpiresAt === seen.listedExpiresAt;
}

const sameBill = (left: StoredSandbox, right: StoredSandbox): boolean =>
  JSON.stringify(left.state.bill) === JSON.stringify(right.state.bill);

/** When the next thing happens by itself; null when nothing will. */
function nextOf(sandbox: StoredSandbox): number | null {
  const retry = sandbox.owed.length > 0 ? sandbox.retryAt : null;
  const times = [...Object.values(timers(sandbox.state)), retry, eraseAt(sandbox)];
  const next = Math.min(...times.filter((at) => at !== null));
  return Number.isFinite(next) ? next : null;
}

/** When the record may go; null while something is owed or the sandbox lives. */
function eraseAt({ state, owed }: StoredSandbox): number | null {
  if (owed.length > 0) return null;
  if (state.status === "failed") return 0;
  return state.status === "gone" ? state.endedAt + LIMITS.goneReadableMs : null;
}
