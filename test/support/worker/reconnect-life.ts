import type { SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { signatureOf } from "../../../durable-objects/host/reconcile.ts";
import type { Released, SessionState } from "../../../durable-objects/session/state.ts";
import {
  eventOf,
  type SessionEvent,
  step,
  timers,
} from "../../../durable-objects/session/transitions.ts";
import { seededRandom } from "./random.ts";

/** How long a pool merges changes before it tells them. */
const MERGE_MS = 300;
const CLIENTS = 5;
const HOURS = 3_600_000;

/** How a life went. Times are ms. */
export interface Course {
  /** When the session ended although a client was there, or was to come back in its time; null when it did not. */
  cutAt: number | null;
  /** When the last client left, and how. */
  leftAt: number;
  how: "clean" | "dropped";
  end: Released;
}

/**
 * One session whose clients come and go quickly, told by a pool that merges changes, over heartbeats that get lost, come
 * twice or come late. The clock is simulated: whatever happens is a work at a time.
 */
export class ReconnectLife {
  readonly #random: () => number;
  readonly #works: { at: number; run: () => void }[] = [];
  /** The distance between one client and the next: each from 0 to 1,000 ms is met. */
  readonly #distanceMs: number;
  #now = 0;
  #state: SessionState = { status: "creating", giveUpAt: 35_000 };
  #opens = 0;
  #closes = 0;
  #lastClose: "clean" | "dropped" | null = null;
  #told = "";
  #isMerging = false;
  #isDirty = false;
  #expected = CLIENTS;
  #cutAt: number | null = null;
  #leftAt = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed + 1);
    this.#distanceMs = seed % 1001;
  }

  run(): Course {
    this.#apply({ type: "placed", expiresAt: 24 * HOURS, leaseIdleMs: null });
    this.#later(this.#upTo(1000), () => this.#connect());
    while (this.#state.status === "active") this.#advance();
    if (this.#state.status !== "released") throw new Error(this.#state.status);
    const how = this.#lastClose ?? "dropped";
    return { cutAt: this.#cutAt, leftAt: this.#leftAt, how, end: this.#state };
  }

  /** Lets the next thing happen: a work, or a timer of the session. */
  #advance(): void {
    this.#works.sort((one, other) => one.at - other.at);
    const alarm = Math.min(...Object.values(timers(this.#state)));
    const next = this.#works[0];
    if (next && next.at < alarm) {
      this.#works.shift();
      this.#now = next.at;
      next.run();
    } else {
      this.#now = alarm;
      this.#apply({ type: "tick" });
    }
  }

  #apply(event: SessionEvent): void {
    const before = this.#state;
    this.#state = step(before, event, this.#now);
    if (before.status !== "active") return;
    const isClientThere = this.#expected > 0 || this.#opens > this.#closes;
    if (this.#state.status !== "active" && isClientThere) this.#cutAt ??= this.#now;
    if (this.#state.status !== "active") return;
    if ((this.#state.claim?.asked ?? 0) > (before.claim?.asked ?? 0)) this.#ask();
  }

  /** The upgrade goes to the pool, which counts it; its answer comes to the session's object a moment later. */
  #connect(): void {
    this.#later(this.#upTo(20), () => {
      this.#opens += 1;
      const number = this.#opens;
      this.#changed();
      this.#later(this.#upTo(400), () => this.#apply({ type: "attached", opens: number }));
      this.#later(this.#upTo(200), () => this.#close());
    });
  }

  #close(): void {
    this.#closes += 1;
    this.#lastClose = this.#random() < 0.8 ? "clean" : "dropped";
    this.#leftAt = this.#now;
    this.#expected -= 1;
    this.#changed();
    if (this.#expected > 0) this.#later(this.#distanceMs, () => this.#connect());
  }

  /** The pool merges what changes within a moment into one heartbeat. */
  #changed(): void {
    this.#isDirty = true;
    if (this.#isMerging) return;
    this.#isMerging = true;
    this.#later(MERGE_MS, () => this.#beat());
  }

  #beat(): void {
    this.#isDirty = false;
    const report = this.#report();
    const isLost = this.#random() < 0.2;
    if (!isLost) this.#later(this.#upTo(50), () => this.#hear(report));
    // It comes twice, or once more when newer ones have come.
    if (this.#random() < 0.2) this.#later(this.#upTo(2000), () => this.#hear(report, true));
    this.#later(isLost ? this.#upTo(2000) : 50, () => {
      this.#isMerging = false;
      if (isLost || this.#isDirty) this.#changed();
    });
  }

  #report(): SlotReport {
    const [opens, closes] = [this.#opens, this.#closes];
    const lastClose = opens === closes && this.#lastClose ? { lastClose: this.#lastClose } : {};
    return { id: "s", kind: "fast", opens, closes, lastActivityAt: 0, ...lastClose };
  }

  /** The host's object passes on what is new to it; a repeat slips through. */
  #hear(report: SlotReport, isRepeat = false): void {
    const signature = signatureOf(report);
    if (signature === this.#told && !isRepeat) return;
    this.#told = signature;
    this.#apply(eventOf(report));
  }

  #ask(): void {
    this.#later(this.#upTo(50), () => this.#apply(eventOf(this.#report())));
  }

  #upTo(ms: number): number {
    return Math.floor(this.#random() * ms);
  }

  #later(ms: number, run: () => void): void {
    this.#works.push({ at: this.#now + ms, run });
  }
}

// The distances stay below the time in which a client that closed may come back.
if (LIMITS.lingerMs <= 1000 + 400 + 20) throw new Error("the distances are too long");
