import { arm, type Times } from "./alarm.ts";

/** What a new object owes can wait until its customer has gone on: to the first page, or the first command. */
export const SETTLE_MS = 1000;

/**
 * The one record of an object in its storage, and the object's one alarm. A record that begins, or whose create
 * failed, is in memory alone until it is kept: should the object die, so has its create, its claim lapses, and a host
 * that holds what was created is told to end it.
 */
export class StoredRecord<R extends { state: { status: string } }> {
  readonly #storage: DurableObjectStorage;
  readonly #key: string;
  /** When a create that nobody finished is void; null once the create is over. */
  readonly #giveUpAt: (record: R) => number | null;
  #unwritten: R | null = null;
  /** When the alarm rings, as far as this object has set it. */
  #armedAt: number | null = null;

  constructor(storage: DurableObjectStorage, key: string, giveUpAt: (record: R) => number | null) {
    this.#storage = storage;
    this.#key = key;
    this.#giveUpAt = giveUpAt;
  }

  load(): R | null {
    return this.#unwritten ?? this.#storage.kv.get<R>(this.#key) ?? null;
  }

  /** Takes a new record, in memory alone. */
  begin(record: R): void {
    this.#unwritten = record;
  }

  /** Writes a record that begins, with an alarm that suits what it owes once it has begun. */
  keep(now: number): void {
    const record = this.#unwritten;
    const giveUpAt = record && this.#giveUpAt(record);
    if (!record || giveUpAt === null) return;
    this.#unwritten = null;
    this.save(record);
    this.ring(Math.min(now + SETTLE_MS, giveUpAt));
  }

  save(record: R): void {
    const hasBegun = this.#giveUpAt(record) === null && record.state.status !== "failed";
    const isUnwritten = this.#unwritten !== null && !hasBegun;
    this.#unwritten = isUnwritten ? record : null;
    if (!isUnwritten) this.#storage.kv.put(this.#key, record);
  }

  /** Sets the alarm, with the writes of this moment. An alarm that rings before does as well. */
  ring(at: number): void {
    if (this.#unwritten || (this.#armedAt !== null && this.#armedAt <= at)) return;
    this.#armedAt = at;
    void this.#storage.setAlarm(at);
  }

  /** The alarm has rung. */
  rang(): void {
    this.#armedAt = null;
  }

  /** Sees to it that the alarm rings for the earliest of these times. It may ring before. */
  async arm(times: () => Times): Promise<void> {
    if (this.#unwritten) return;
    // At once: a change that comes while the alarm is taken back sets another one with its own write.
    await arm(this.#storage, times, (at) => (this.#armedAt = at));
  }

  /** Forgets the record. */
  async erase(): Promise<void> {
    if (this.#unwritten) {
      this.#unwritten = null;
      return;
    }
    this.#armedAt = null;
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
  }
}
