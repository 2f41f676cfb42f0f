import { arm } from "./alarm.ts";

/** What a new object owes can wait until its customer has gone on: to the first page, or the first command. */
export const SETTLE_MS = 1000;

interface Stated {
  state: { status: string };
}

/**
 * The one record of a session or sandbox, and the object's one alarm. While it begins, and when it never was, it is in
 * memory alone until it is kept: should the object die, so has its create, its claim lapses, and a host that holds it is
 * told to end it.
 */
export class OwnRecord<Kept extends Stated> {
  readonly #storage: DurableObjectStorage;
  readonly #key: string;
  /** When a create that nobody finished is void; null of what no longer begins. */
  readonly #giveUpAt: (kept: Kept) => number | null;
  #unborn: Kept | null = null;
  /** When the alarm rings, as far as this object has set it. */
  #armedAt: number | null = null;

  constructor(storage: DurableObjectStorage, key: string, giveUpAt: (kept: Kept) => number | null) {
    this.#storage = storage;
    this.#key = key;
    this.#giveUpAt = giveUpAt;
  }

  load(): Kept | null {
    return this.#unborn ?? this.#storage.kv.get<Kept>(this.#key) ?? null;
  }

  /** One that nothing is kept of yet. */
  begin(kept: Kept): void {
    this.#unborn = kept;
  }

  /** Writes one that begins, with an alarm by which it mostly has: what it owes then need not set another. */
  keep(now: number): void {
    const kept = this.#unborn;
    const giveUpAt = kept && this.#giveUpAt(kept);
    if (!kept || giveUpAt === null) return;
    this.#unborn = null;
    this.save(kept);
    this.ring(Math.min(now + SETTLE_MS, giveUpAt));
  }

  save(kept: Kept): void {
    const isBegun = this.#giveUpAt(kept) === null && kept.state.status !== "failed";
    const isUnborn = this.#unborn !== null && !isBegun;
    this.#unborn = isUnborn ? kept : null;
    if (!isUnborn) this.#storage.kv.put(this.#key, kept);
  }

  /** Sets the alarm, with the writes of this moment. One that rings before does as well. */
  ring(at: number): void {
    if (this.#unborn || (this.#armedAt !== null && this.#armedAt <= at)) return;
    this.#armedAt = at;
    void this.#storage.setAlarm(at);
  }

  /** The alarm has rung. */
  rang(): void {
    this.#armedAt = null;
  }

  /** Sees to it that the alarm rings for the first of these times. It may ring before. */
  async arm(times: () => Record<string, number | null | undefined>): Promise<void> {
    if (!this.#unborn) this.#armedAt = await arm(this.#storage, times);
  }

  /** Forgets it. */
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
