import { arm } from "./alarms.ts";
import type { Place } from "./placement.ts";
import type { StoredSession } from "./session-duties.ts";
import { duties, type Duty, type SessionEvent, step, timers } from "./states/session.ts";

const KEY = "session";
const retryMs = 5000;

/** The one record of a session, its transitions and its alarm. All of it is synchronous but the alarm. */
export class SessionStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  load(): StoredSession | null {
    return this.#storage.kv.get<StoredSession>(KEY) ?? null;
  }

  save(session: StoredSession): void {
    this.#storage.kv.put(KEY, session);
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
    const session = { ...before, state, owed, place: place ?? before.place };
    const changed = state !== before.state;
    if (changed) this.save(session);
    return { session, fresh, changed };
  }

  /** Ticks off a duty, unless the session has moved on since and owes it anew. */
  done(duty: Duty, seen: StoredSession): void {
    const session = this.load();
    if (!session || session.state.status !== seen.state.status) return;
    const owed = session.owed.filter((other) => other !== duty);
    this.save({ ...session, owed, retryAt: owed.length === 0 ? null : session.retryAt });
  }

  /** Notes that duties failed: the alarm tries them again. */
  retryLater(now: number): void {
    const session = this.load();
    if (session) this.save({ ...session, retryAt: now + retryMs });
  }

  /** Sets the alarm to the first thing that will happen by itself. */
  async arm(): Promise<void> {
    const session = this.load();
    if (!session) return;
    const retry = session.owed.length > 0 ? session.retryAt : null;
    await arm(this.#storage, { ...timers(session.state), retry });
  }

  /** Forgets a session that never was. */
  async erase(): Promise<void> {
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
  }
}
