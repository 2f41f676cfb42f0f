import { availableParallelism } from "node:os";
import { backoffMs } from "@svc/host-kit/backoff.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { LaunchSlot } from "./launch.ts";
import type { Slot } from "./slot.ts";

/** How long a refill waits: it would take the processor from the first page of a new session. */
const QUIET_MS = 300;
const RETRIES = { firstMs: 500, mostMs: 30_000 };
/** From so many failures in a row on, the hint says why no browser can be had. */
const FAILURES_TOLD = 2;

export interface WarmSlotsOptions {
  warm: number;
  /** The places of the pool that are this kind's. No other kind has one of them: a place gives its slot a uid. */
  places: number[];
  log: Log;
  launch: LaunchSlot;
  /** The counts have changed. */
  onChange: () => void;
  /** The browser that is given away next is another one; null: none is warm. */
  onNext: (slot: Slot | null) => void;
}

/** How a slot is asked for. */
export interface SlotWish {
  /** Whether to wait when no browser is warm: until the caller goes away. */
  waits: boolean;
  /** When the create began, in ms: earlier ones are served first. */
  since: number;
}

interface Waiter {
  since: number;
  take: (slot: Slot | null) => void;
}

/** The warm browsers of one kind: kept at their number, launched on demand when more are wanted, given away once. */
export class WarmSlots {
  readonly #options: WarmSlotsOptions;
  readonly #idle: Slot[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #freePlaces: number[];
  readonly #launches = new Set<Promise<void>>();
  readonly #shutting = new AbortController();
  #launching = 0;
  #retiring = 0;
  #failures = 0;
  #reason = "";
  /** No launch before this. Monotonic clock (`performance.now()`). */
  #notBefore = 0;
  #timer: NodeJS.Timeout | null = null;
  #isShut = false;

  constructor(options: WarmSlotsOptions) {
    this.#options = options;
    this.#freePlaces = [...options.places];
  }

  get counts(): { idle: number; recycling: number } {
    return { idle: this.#idle.length, recycling: this.#launching + this.#retiring };
  }

  /** Why no browser can be had, when launches keep failing. */
  get hint(): string | null {
    return this.#failures >= FAILURES_TOLD && this.#idle.length === 0 ? this.#reason : null;
  }

  /** Launches the browsers that are wanted and may be launched now. */
  fill(): void {
    this.#options.onNext(this.#idle[0] ?? null);
    if (this.#isShut) return;
    const wait =
      this.#waiters.length > 0 && this.#failures === 0 ? 0 : this.#notBefore - performance.now();
    if (wait > 0) this.#fillLater(wait);
    else while (this.#wantsLaunch()) this.#track(this.#launch());
  }

  /** Gives a warm browser away; null when none is warm and the caller does not wait, or went away. */
  async take({ waits, since }: SlotWish, signal: AbortSignal): Promise<Slot | null> {
    if (this.#isShut || signal.aborted) return null;
    const slot = this.#idle.shift() ?? (waits ? await this.#wait(since, signal) : null);
    // Counted from the first browser taken: sessions that come one after the other must not put the refill off for ever.
    if (this.#launching === 0 && this.#timer === null)
      this.#notBefore = Math.max(this.#notBefore, performance.now() + QUIET_MS);
    this.fill();
    return slot;
  }

  /** Takes back a browser that nobody has touched. */
  giveBack(slot: Slot): void {
    const waiter = this.#isShut ? undefined : this.#waiters.shift();
    if (waiter) waiter.take(slot);
    // Dead, or too late: its end makes room.
    else if (this.#isShut || slot.isDead) void this.retire(slot);
    else this.#idle.push(slot);
    this.#options.onNext(this.#idle[0] ?? null);
    this.#options.onChange();
  }

  /** Ends a browser that was given away; another may be launched in its place. */
  async retire(slot: Slot): Promise<void> {
    this.#retiring += 1;
    this.#options.onChange();
    try {
      await slot.close();
    } catch (error) {
      const { log } = this.#options;
      log.error({ slot: slot.number, reason: messageOf(error) }, "slot_not_removed");
    }
    this.#retiring -= 1;
    this.#freePlaces.push(slot.index);
    this.#options.onChange();
    this.fill();
  }

  /** Gives no browser away any more, and ends the warm ones. */
  async shut(): Promise<void> {
    this.#isShut = true;
    if (this.#timer) clearTimeout(this.#timer);
    for (const waiter of this.#waiters.splice(0)) waiter.take(null);
    this.#shutting.abort();
    await Promise.all(this.#launches);
    await Promise.all(this.#idle.splice(0).map((slot) => this.retire(slot)));
  }

  #wantsLaunch(): boolean {
    const waiting = this.#waiters.length;
    const wanted = this.#options.warm + waiting - this.#idle.length - this.#launching;
    const atOnce = Math.max(1, Math.min(waiting, availableParallelism()));
    return wanted > 0 && this.#launching < atOnce && this.#freePlaces.length > 0;
  }

  #fillLater(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.fill();
    }, ms);
  }

  #track(launch: Promise<void>): void {
    this.#launches.add(launch);
    void launch.finally(() => this.#launches.delete(launch));
  }

  async #launch(): Promise<void> {
    const place = this.#freePlaces.shift();
    if (place === undefined) return;
    this.#launching += 1;
    const slot = await this.#options
      .launch(place, this.#shutting.signal)
      .catch((error: unknown) => this.#failed(error));
    this.#launching -= 1;
    if (slot) this.#launched(slot);
    else this.#freePlaces.push(place);
    this.#options.onChange();
    this.fill();
  }

  #failed(error: unknown): null {
    if (this.#isShut) return null;
    this.#failures += 1;
    this.#notBefore = performance.now() + backoffMs(this.#failures, RETRIES);
    this.#reason = `Chromium does not start: ${messageOf(error)}`.slice(0, 500);
    this.#options.log.error({ failures: this.#failures, reason: this.#reason }, "launch_failed");
    return null;
  }

  #launched(slot: Slot): void {
    this.#failures = 0;
    void slot.died.then(() => this.#lost(slot));
    const waiter = this.#waiters.shift();
    if (waiter) {
      waiter.take(slot);
      return;
    }
    // Also while `shut` runs: it ends the browsers that it finds here.
    this.#idle.push(slot);
  }

  #lost(slot: Slot): void {
    const at = this.#idle.indexOf(slot);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    // A browser that dies as soon as it is warm would be launched again and again.
    this.#notBefore = performance.now() + RETRIES.firstMs;
    this.#options.log.warn({ slot: slot.number }, "warm_browser_died");
    void this.retire(slot);
  }

  #wait(since: number, signal: AbortSignal): Promise<Slot | null> {
    return new Promise((resolve) => {
      const end = (slot: Slot | null): void => {
        signal.removeEventListener("abort", giveUp);
        const at = this.#waiters.indexOf(waiter);
        if (at >= 0) this.#waiters.splice(at, 1);
        resolve(slot);
      };
      const giveUp = (): void => end(null);
      const waiter: Waiter = { since, take: end };
      signal.addEventListener("abort", giveUp);
      const later = this.#waiters.findIndex((other) => other.since > since);
      this.#waiters.splice(later < 0 ? this.#waiters.length : later, 0, waiter);
      this.fill();
    });
  }
}
