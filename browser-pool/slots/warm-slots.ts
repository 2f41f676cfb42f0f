import { availableParallelism } from "node:os";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Slot } from "./slot.ts";

/** A refill waits for this long: it would take the processor from the first page of a new session. */
const QUIET_MS = 300;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;
const FAILURES_TOLD = 2;

export interface ShelfOptions {
  warm: number;
  maxSlots: number;
  log: Log;
  launch: (place: number, signal: AbortSignal) => Promise<Slot>;
  onChange: () => void;
}

interface Waiter {
  take: (slot: Slot | null) => void;
}

/** The warm browsers: kept at their number, launched on demand when more are wanted, taken once. */
export class Shelf {
  readonly #options: ShelfOptions;
  readonly #idle: Slot[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #freePlaces: number[];
  readonly #launches = new Set<Promise<void>>();
  readonly #shutting = new AbortController();
  #launching = 0;
  #retiring = 0;
  #failures = 0;
  #reason = "";
  /** On the clock that nobody sets. */
  #notBefore = 0;
  #timer: NodeJS.Timeout | null = null;
  #isShut = false;

  constructor(options: ShelfOptions) {
    this.#options = options;
    this.#freePlaces = Array.from({ length: options.maxSlots }, (_, place) => place);
  }

  get counts(): { idle: number; recycling: number } {
    return { idle: this.#idle.length, recycling: this.#launching + this.#retiring };
  }

  /** Why no browser can be had, when launches keep failing. */
  get hint(): string | null {
    return this.#failures >= FAILURES_TOLD && this.#idle.length === 0 ? this.#reason : null;
  }

  /** Launches what is wanted and may be launched now. */
  fill(): void {
    if (this.#isShut) return;
    const wait =
      this.#waiters.length > 0 && this.#failures === 0 ? 0 : this.#notBefore - performance.now();
    if (wait > 0) this.#fillLater(wait);
    else while (this.#wantsLaunch()) this.#track(this.#launch());
  }

  /** A warm browser; null when none came in time or the caller went away. */
  async take(acquireMs: number, signal: AbortSignal): Promise<Slot | null> {
    if (this.#isShut || signal.aborted) return null;
    const slot = this.#idle.shift() ?? (acquireMs > 0 ? await this.#wait(acquireMs, signal) : null);
    // From the first hole on: sessions that come one after the other must not put the refill off for ever.
    if (this.#launching === 0 && this.#timer === null)
      this.#notBefore = Math.max(this.#notBefore, performance.now() + QUIET_MS);
    this.fill();
    return slot;
  }

  /** Ends a browser that was taken and makes its place free again. */
  async retire(slot: Slot): Promise<void> {
    this.#retiring += 1;
    this.#options.onChange();
    try {
      await slot.close();
    } catch (error) {
      const { log } = this.#options;
      log.error({ slot: slot.number, reason: messageOf(error) }, "a slot was not removed whole");
    }
    this.#retiring -= 1;
    this.#freePlaces.push(slot.place);
    this.#options.onChange();
    this.fill();
  }

  /** Gives no browser away any more, and ends those that nobody has. */
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
    const pause = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
    this.#notBefore = performance.now() + pause;
    this.#reason = `Chromium does not start: ${messageOf(error)}`.slice(0, 500);
    this.#options.log.error({ failures: this.#failures, reason: this.#reason }, "a launch failed");
    return null;
  }

  #launched(slot: Slot): void {
    this.#failures = 0;
    const waiter = this.#waiters.shift();
    if (waiter) {
      waiter.take(slot);
      return;
    }
    // Also when the shelf is being shut: that ends what it finds here.
    this.#idle.push(slot);
    void slot.died.then(() => this.#lost(slot));
  }

  #lost(slot: Slot): void {
    const at = this.#idle.indexOf(slot);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    // One that dies as soon as it is warm would be launched again and again.
    this.#notBefore = performance.now() + FIRST_RETRY_MS;
    this.#options.log.warn({ slot: slot.number }, "a warm browser died");
    void this.retire(slot);
  }

  #wait(acquireMs: number, signal: AbortSignal): Promise<Slot | null> {
    return new Promise((resolve) => {
      const end = (slot: Slot | null): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        const at = this.#waiters.indexOf(waiter);
        if (at >= 0) this.#waiters.splice(at, 1);
        resolve(slot);
      };
      const giveUp = (): void => end(null);
      const waiter: Waiter = { take: end };
      const timer = setTimeout(giveUp, acquireMs);
      signal.addEventListener("abort", giveUp);
      this.#waiters.push(waiter);
      this.fill();
    });
  }
}
