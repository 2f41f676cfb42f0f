import { earliest, type Times } from "./alarm.ts";
import { SETTLE_MS, StoredRecord } from "./stored-record.ts";

/** A duty is tried again after so long, unless its table says otherwise. */
export const RETRY_MS = 5000;

/** What every live record has beside its own fields. */
export interface Owing<D extends string> {
  state: { status: string };
  /** Duties not done yet. */
  owed: D[];
  /** When to try again what is owed; null while nothing is. */
  retryAt: number | null;
}

/** The rules by which a record changes, all of them pure: R is the record, E its events, D its duties. */
export interface Table<R extends Owing<D>, E, D extends string> {
  /** The record's name in the object's storage. */
  key: string;
  step: (state: R["state"], event: E | { type: "tick" }, now: number) => R["state"];
  /** When something happens by itself. */
  timers: (record: R) => Times;
  /** What a change obliges to. */
  duties: (before: R, after: R) => D[];
  /** Which of the new duties are done at once; the alarm does the others. All of them unless it is said. */
  atOnce?: (before: R, after: R, fresh: readonly D[]) => readonly D[];
  /** Duties that are never written down as owed. */
  unwritten?: readonly D[];
  /** Duties that a state has for as long as it lasts. */
  lasting?: (state: R["state"]) => readonly D[];
  /** Further fields that follow from a change and its duties. */
  amend?: (before: R, after: R, fresh: readonly D[]) => Partial<R>;
  /** Whether a duty that was done from `seen` is done for the record as it is now: while its status is the same, unless it is said. */
  isDone?: (now: R, seen: R, duty: D) => boolean;
  /** How long to wait with the next try of a duty that failed. */
  retryMs?: (duty: D, owed: readonly D[]) => number;
  /** When a create that nobody finished is void; null once it is over, or for records that are written at once. */
  giveUpAt?: (state: R["state"]) => number | null;
  /** When nobody needs the record any more, provided that it owes nothing; null while somebody does. */
  eraseAt: (state: R["state"]) => number | null;
}

/** What an event did: the record, and the duties that are to be done now. */
export interface Applied<R, D> {
  before: R;
  after: R;
  now: readonly D[];
}

/** A stored record, what it owes, and its alarm. All of it is synchronous but the alarm. */
export class DutyRecord<R extends Owing<D>, E, D extends string> extends StoredRecord<R> {
  readonly #table: Table<R, E, D>;
  /** Duties done since the last write. Written with the last of them, or once all were tried; done again should the object die before. */
  readonly #done = new Set<D>();

  constructor(storage: DurableObjectStorage, table: Table<R, E, D>) {
    super(storage, table.key, ({ state }) => table.giveUpAt?.(state) ?? null);
    this.#table = table;
  }

  /** Duties still to be done. */
  owed(): D[] {
    return this.load()?.owed.filter((duty) => !this.#done.has(duty)) ?? [];
  }

  /** Applies an event at a time, with facts that came with it. Null when there is no record. */
  apply(event: E | { type: "tick" }, now: number, facts: Partial<R> = {}): Applied<R, D> | null {
    const before = this.load();
    if (!before) return null;
    const state = this.#table.step(before.state, event, now);
    if (state !== before.state) return this.#change(before, { ...before, ...facts, state }, now);
    const after = { ...before, ...facts };
    if (Object.keys(facts).length > 0) this.save(after);
    return { before, after, now: [] };
  }

  #change(before: R, changed: R, now: number): Applied<R, D> {
    const { unwritten = [], amend, atOnce } = this.#table;
    const fresh = this.#table.duties(before, changed);
    const written = fresh.filter((duty) => !unwritten.includes(duty));
    const first = atOnce?.(before, changed, fresh) ?? fresh;
    const owed = [...new Set([...this.owed(), ...written])];
    const waitMs = written.every((duty) => first.includes(duty)) ? RETRY_MS : SETTLE_MS;
    // In the same write as the change: an object that dies before it does its duty is woken to do it.
    const retryAt = written.length > 0 ? now + waitMs : before.retryAt;
    const after = { ...changed, ...amend?.(before, changed, fresh), owed, retryAt };
    this.#done.clear();
    this.save(after);
    if (written.length > 0) this.#ringFor(after);
    return { before, after, now: first };
  }

  /** Writes a new record at once. */
  write(record: R): void {
    this.save(record);
    this.#ringFor(record);
  }

  /** Notes facts that come with no event, with the alarm that they may ask for. */
  note(facts: Partial<R>): void {
    const record = this.load();
    if (!record) return;
    this.write({ ...record, ...facts });
  }

  /** Notes something that is begun, with the duty to end it should this object die meanwhile. */
  owe(duty: D, at: number, facts: Partial<R> = {}): void {
    const record = this.load();
    if (!record) return;
    this.#done.delete(duty);
    const owed = [...new Set([...record.owed, duty])];
    this.note({ ...facts, owed, retryAt: record.retryAt ?? at });
  }

  /** Ticks off a duty that was done from `seen`, unless the record has moved on since and owes it anew. */
  tickOff(duty: D, seen: R): void {
    const record = this.load();
    if (!record || !this.#isDone(record, seen, duty)) return;
    this.#done.add(duty);
    if (this.owed().length === 0) this.writeDone();
  }

  /** Writes which duties are done, if that is not written yet. */
  writeDone(): void {
    const record = this.load();
    const owed = this.owed();
    this.#done.clear();
    if (!record || record.owed.length === owed.length) return;
    this.save({ ...record, owed, retryAt: owed.length === 0 ? null : record.retryAt });
  }

  #isDone(now: R, seen: R, duty: D): boolean {
    const { isDone } = this.#table;
    return isDone ? isDone(now, seen, duty) : now.state.status === seen.state.status;
  }

  /** Notes that a duty failed: the alarm tries it again. */
  retryLater(duty: D, now: number): void {
    const record = this.load();
    const owed = this.owed();
    const waitMs = this.#table.retryMs?.(duty, owed) ?? RETRY_MS;
    this.#done.clear();
    if (record) this.save({ ...record, owed, retryAt: now + waitMs });
  }

  /** Sets the alarm to the first thing that will happen by itself. */
  rearm(): Promise<void> {
    return this.arm(() => {
      const record = this.load();
      return record ? this.#times(record) : {};
    });
  }

  /** Whether nothing needs the record any more. */
  isDue(now: number): boolean {
    const record = this.load();
    return record !== null && now >= (this.#eraseAt(record) ?? Infinity);
  }

  #ringFor(record: R): void {
    const next = earliest(this.#times(record));
    // With the record, not after it: an object that dies in between would owe until somebody looks at it.
    if (next !== null) this.ring(next);
  }

  #times(record: R): Times {
    const retry = record.owed.length > 0 ? record.retryAt : null;
    return { ...this.#table.timers(record), retry, erase: this.#eraseAt(record) };
  }

  #eraseAt({ state, owed }: R): number | null {
    return owed.length > 0 ? null : this.#table.eraseAt(state);
  }
}
