import type { SessionEvent } from "../../../durable-objects/session/transitions.ts";

const LINGER = 2000;
const GRACE = 210_000;

/**
 * The life of a session told a second time, in another way: a diary of facts, from which the end is
 * looked up. It shares no code with the table under test; the numbers are those of the documents.
 */
export class SessionModel {
  readonly #giveUpAt: number;
  #bornAt: number | null = null;
  #expiresAt = 0;
  #left: { at: number; after: number } | null = null;
  #awayAt: number | null = null;
  /** The highest counts that were heard. */
  #opens = 0;
  #closes = 0;
  /** The highest number of a socket that was opened through the gateway. */
  #promised = 0;
  #leaseEnd: number | null = null;
  #end: { at: number; status: string; reason: string | null } | null = null;

  constructor(giveUpAt: number) {
    this.#giveUpAt = giveUpAt;
  }

  /** `creating`, `active`, `away`, `failed`, or how it ended. */
  get status(): string {
    if (this.#end) return [this.#end.status, this.#end.reason].filter(Boolean).join(" ");
    if (this.#bornAt === null) return "creating";
    return this.#awayAt === null ? "active" : "away";
  }

  get endedAt(): number | null {
    return this.#end?.at ?? null;
  }

  tell(event: SessionEvent, now: number): void {
    this.#letTimePass(now);
    if (this.#end) return;
    if (this.#bornAt === null) this.#whileCreating(event, now);
    else this.#whileAlive(event, now);
  }

  #letTimePass(now: number): void {
    if (this.#end) return;
    const ends: [number | null, string, string | null][] =
      this.#bornAt === null
        ? [[this.#giveUpAt, "failed", null]]
        : [
            [this.#expiresAt, "expired", null],
            [this.#leaseEnd, "released", "lease_ended"],
            ...this.#absences(),
          ];
    for (const [at, status, reason] of ends) {
      if (at === null || at > now || at >= (this.#end?.at ?? Infinity)) continue;
      this.#end = { at, status, reason };
    }
  }

  #absences(): [number | null, string, string | null][] {
    if (this.#awayAt !== null) return [[this.#awayAt + GRACE, "released", "pool_lost"]];
    if (this.#left === null || this.#leaseEnd !== null) return [];
    // Somebody may be there.
    if (this.#promised > this.#opens) return [];
    const reason = this.#left.after === LINGER ? "client_disconnected" : "orphaned";
    return [[this.#left.at + this.#left.after, "released", reason]];
  }

  #whileCreating(event: SessionEvent, now: number): void {
    if (event.type === "createFailed") this.#end = { at: now, status: "failed", reason: null };
    if (event.type === "release") this.#finish(now, "released");
    if (event.type !== "placed") return;
    this.#bornAt = now;
    this.#expiresAt = event.expiresAt;
    this.#left = { at: now, after: GRACE };
    if (event.leaseIdleMs !== null) this.#leaseEnd = now + event.leaseIdleMs;
  }

  #whileAlive(event: SessionEvent, now: number): void {
    if (event.type === "release") this.#finish(now, "released");
    if (event.type === "hostLost") this.#finish(now, "pool_lost");
    if (event.type === "hostEnded" && event.reason !== "expired") this.#finish(now, event.reason);
    if (event.type === "hostEnded" && event.reason === "expired") {
      this.#end = { at: now, status: "expired", reason: null };
    }
    if (event.type === "hostAway") this.#awayAt ??= event.seenAt;
    if (event.type === "attached") this.#promised = Math.max(this.#promised, event.opens);
    if (event.type === "hostBack") this.#comeBack(now);
    if (event.type === "leaseRenewed") this.#leaseEnd = now + event.idleMs;
    if (event.type === "sockets") this.#sockets(event, now);
  }

  #comeBack(now: number): void {
    if (this.#awayAt !== null && this.#left) this.#left.at = now;
    this.#awayAt = null;
  }

  #sockets(event: Extract<SessionEvent, { type: "sockets" }>, now: number): void {
    const { opens, closes, lastClose = "dropped" } = event;
    if (opens < this.#opens || closes < this.#closes) return;
    const isNews = opens + closes > this.#opens + this.#closes;
    this.#opens = opens;
    this.#closes = closes;
    if (opens > closes) this.#left = null;
    else if (isNews || !this.#left)
      this.#left = { at: now, after: lastClose === "clean" ? LINGER : GRACE };
  }

  #finish(at: number, reason: string): void {
    this.#end = { at, status: "released", reason };
  }
}
