import { logOf } from "@svc/contract/log.ts";
import { DutyRecord, type Owing, type Table } from "./duty-record.ts";

const log = logOf("durable-objects");

/** How a record does its duties, and who hears of its changes. */
export interface Work<R, E, D> {
  /**
   * Does one duty, from the record as it is now, so that late or twice does no harm. Answers events: what it found out.
   * Throws when the duty is to be tried again.
   */
  perform: (record: R, duty: D) => Promise<readonly E[]>;
  /** Told of each change of state. */
  onChange?: (before: R, after: R) => void;
}

/**
 * The record of one live object: events change it by its table, what a change obliges to is done, and repeated by the
 * alarm until it is done. Sessions, sandboxes and templates are each one of these.
 */
export class LiveRecord<R extends Owing<D>, E extends { type: string }, D extends string> {
  readonly #ctx: DurableObjectState;
  readonly #table: Table<R, E, D>;
  readonly #work: Work<R, E, D>;
  readonly #store: DutyRecord<R, E, D>;
  /** Duties being done now, so that none is done twice at once. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(ctx: DurableObjectState, table: Table<R, E, D>, work: Work<R, E, D>) {
    this.#ctx = ctx;
    this.#table = table;
    this.#work = work;
    this.#store = new DutyRecord(ctx.storage, table);
  }

  load(): R | null {
    return this.#store.load();
  }

  /** Takes a new record: known from now on, though not on disk yet. */
  begin(record: R): void {
    this.#store.begin(record);
  }

  /** Takes a new record, on disk at once. */
  write(record: R): void {
    this.#store.write(record);
  }

  /** On disk from now on: should this object die, its alarm undoes what was begun. */
  keep(): void {
    this.#store.keep(Date.now());
  }

  /** Applies an event, with facts that came with it. Answers the record, or null when there is none. */
  apply(event: E | { type: "tick" }, facts?: Partial<R>): R | null {
    const applied = this.#store.apply(event, Date.now(), facts);
    if (!applied) return null;
    const { before, after } = applied;
    this.later(this.#store.rearm());
    if (after.state !== before.state) this.#work.onChange?.(before, after);
    for (const duty of applied.now) this.later(this.do(duty));
    return after;
  }

  /** The record as it is at this moment: timers that are due have rung. */
  tick(): R | null {
    return this.apply({ type: "tick" });
  }

  /** Notes facts that come with no event. */
  note(facts: Partial<R>): void {
    this.#store.note(facts);
  }

  /** Notes something that is begun, with the duty to end it should this object die meanwhile. */
  owe(duty: D, at: number, facts?: Partial<R>): void {
    this.#store.owe(duty, at, facts);
  }

  /** Ticks off a duty that was done elsewhere. */
  tickOff(duty: D): void {
    const record = this.load();
    if (record) this.#store.tickOff(duty, record);
  }

  /** Does a duty, or waits for the attempt that is under way. Never throws: the alarm tries again what has failed. */
  do(duty: D): Promise<void> {
    const record = this.load();
    if (!record) return Promise.resolve();
    const key = `${duty} ${record.state.status}`;
    const running = this.#running.get(key) ?? this.#attempt(record, duty);
    this.#running.set(key, running);
    return running.finally(() => this.#running.delete(key));
  }

  /** Does all that is still to be done. */
  async settle(): Promise<void> {
    const record = this.load();
    const lasting = (record && this.#table.lasting?.(record.state)) ?? [];
    await Promise.all([...this.#store.owed(), ...lasting].map((duty) => this.do(duty)));
    this.#store.writeDone();
  }

  /** The object's alarm has rung: applies what is due and does what is owed, `also` in between. */
  async rang(also?: () => Promise<void>): Promise<void> {
    this.#store.rang();
    this.tick();
    await this.settle();
    await also?.();
    await this.#eraseOrRearm();
  }

  /** Work that goes on after the answer. */
  later(work: Promise<unknown>): void {
    this.#ctx.waitUntil(work);
  }

  async #attempt(record: R, duty: D): Promise<void> {
    const isOwed = this.#table.unwritten?.includes(duty) !== true;
    try {
      const events = await this.#work.perform(record, duty);
      if (isOwed) this.#store.tickOff(duty, record);
      for (const event of events) this.apply(event);
    } catch (error) {
      log.error("duty_failed", { record: this.#table.key, duty, reason: error });
      if (isOwed) this.#store.retryLater(duty, Date.now());
    }
    await this.#eraseOrRearm();
  }

  async #eraseOrRearm(): Promise<void> {
    if (this.#store.isDue(Date.now())) await this.#store.erase();
    else await this.#store.rearm();
  }
}
