import { LIMITS } from "@svc/contract/limits.ts";
import { OwnRecord, SETTLE_MS } from "../live/stored-record.ts";
import type { Place } from "./find-slot.ts";
import type { StoredSession } from "./perform.ts";
import { duties, type Duty, type SessionEvent, step, timers } from "./transitions.ts";

const retryMs = 5000;

/** The transitions of a session's one record, and its alarm. All of it is synchronous but the alarm. */
export class SessionStore extends OwnRecord<StoredSession> {
  /** Duties done since the last change. Written when none is left; done again should the object die before. */
  readonly #done = new Set<Duty>();

  constructor(storage: DurableObjectStorage) {
    super(storage, "session", ({ state }) => (state.status === "creating" ? state.giveUpAt : null));
  }

  /** Duties still to be done. */
  owed(): Duty[] {
    return this.load()?.owed.filter((duty) => !this.#done.has(duty)) ?? [];
  }

  /** Applies an event at a time. Answers the session and what the change obliges to; null = no session. */
  apply(
    event: SessionEvent,
    now: number,
    place?: Place,
  ): { session: StoredSession; fresh: Duty[]; changed: boolean } | null {
    const before = this.load();
    if (!before) return null;
    const state = step(before.state, event, now);
    const fresh = duties(before.state, state);
    const lasting = fresh.filter((duty) => duty !== "slot");
    const owed = [...new Set([...before.owed, ...lasting])];
    // In the same write as the change: an object that dies before it does its duty is woken to do it.
    const retryAt = lasting.length > 0 ? now + SETTLE_MS : before.retryAt;
    const session = { ...before, state, owed, retryAt, place: place ?? before.place };
    const changed = state !== before.state;
    if (changed) this.save(session);
    // With the record, not after it: an object that dies in between would owe until somebody looks at it.
    if (changed && lasting.length > 0) this.ring(now + SETTLE_MS);
    for (const duty of fresh) this.#done.delete(duty);
    return { session, fresh, changed };
  }

  /** Ticks off a duty, unless the session has moved on since and owes it anew. */
  done(duty: Duty, seen: StoredSession): void {
    const session = this.load();
    if (!session || session.state.status !== seen.state.status) return;
    this.#done.add(duty);
    if (session.owed.length > 0 && this.owed().length === 0)
      this.save({ ...session, owed: [], retryAt: null });
  }

  /** Notes that duties failed: the alarm tries them again. */
  retryLater(now: number): void {
    const session = this.load();
    if (session) this.save({ ...session, retryAt: now + retryMs });
  }

  /** Sets the alarm to the first thing that will happen by itself. */
  rearm(): Promise<void> {
    return this.arm(() => {
      const session = this.load();
      if (!session) return {};
      const retry = session.owed.length > 0 ? session.retryAt : null;
      return { ...timers(session.state), retry, erase: eraseAt(session) };
    });
  }

  /** Whether nothing needs the record any more. */
  isDue(now: number): boolean {
    const session = this.load();
    return session !== null && now >= (eraseAt(session) ?? Infinity);
  }
}

/** When the record may go; null while something is owed or the session lives. */
function eraseAt({ state, owed }: StoredSession): number | null {
  if (owed.length > 0) return null;
  if (state.status === "failed") return 0;
  return "endedAt" in state ? state.endedAt + LIMITS.endedListedMs : null;
}
