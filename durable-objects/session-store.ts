import { LIMITS } from "@svc/contract/limits.ts";
import { arm } from "./alarms.ts";
import type { Place } from "./placement.ts";
import type { StoredSession } from "./session-duties.ts";
import { duties, type Duty, type SessionEvent, step, timers } from "./states/session.ts";

const KEY = "session";
const retryMs = 5000;
/** What a change owes can wait until its customer has gone on: at its beginning, to the first page. */
const settleMs = 1000;

/** The one record of a session, its transitions and its alarm. All of it is synchronous but the alarm. */
export class SessionStore {
  readonly #storage: DurableObjectStorage;
  /**
   * A session that is being created, or never was, and is not on disk. Should the object die, so has the create,
   * its claim lapses, and a host that holds it is told to end it.
   */
  #unborn: StoredSession | null = null;
  /** When the alarm rings, as far as this object has set it. */
  #armedAt: number | null = null;
  /** Duties done since the last change. Written when none is left; done again should the object die before. */
  readonly #done = new Set<Duty>();

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  load(): StoredSession | null {
    return this.#unborn ?? this.#storage.kv.get<StoredSession>(KEY) ?? null;
  }

  /** A session that nothing is kept of yet. */
  begin(session: StoredSession): void {
    this.#unborn = session;
  }

  /** Writes one that is being created, with an alarm by which it mostly is: what it owes then need not set another. */
  keep(now: number): void {
    const session = this.#unborn;
    if (session?.state.status !== "creating") return;
    this.#unborn = null;
    this.save(session);
    this.#ring(Math.min(now + settleMs, session.state.giveUpAt));
  }

  /** The alarm has rung. */
  rang(): void {
    this.#armedAt = null;
  }

  /** Sets the alarm, with the writes of this moment. One that rings before does as well. */
  #ring(at: number): void {
    if (this.#unborn || (this.#armedAt !== null && this.#armedAt <= at)) return;
    this.#armedAt = at;
    void this.#storage.setAlarm(at);
  }

  save(session: StoredSession): void {
    const { status } = session.state;
    const isUnborn = this.#unborn && (status === "creating" || status === "failed");
    this.#unborn = isUnborn ? session : null;
    if (!isUnborn) this.#storage.kv.put(KEY, session);
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
    const retryAt = lasting.length > 0 ? now + settleMs : before.retryAt;
    const session = { ...before, state, owed, retryAt, place: place ?? before.place };
    const changed = state !== before.state;
    if (changed) this.save(session);
    // With the record, not after it: an object that dies in between would owe until somebody looks at it.
    if (changed && lasting.length > 0) this.#ring(now + settleMs);
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
  async arm(): Promise<void> {
    if (this.#unborn) return;
    this.#armedAt = await arm(this.#storage, () => {
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

  /** Forgets the session: one that never was, or one that ended so long ago that no list names it. */
  async erase(): Promise<void> {
    if (this.#unborn) {
      this.#unborn = null;
      return;
    }
    this.#armedAt = null;
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
  }
}

/** When the record may go; null while something is owed or the session lives. */
function eraseAt({ state, owed }: StoredSession): number | null {
  if (owed.length > 0) return null;
  if (state.status === "failed") return 0;
  return "endedAt" in state ? state.endedAt + LIMITS.endedListedMs : null;
}
