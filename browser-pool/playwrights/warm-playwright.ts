import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import { backoffMs } from "@svc/host-kit/backoff.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { PlaywrightProcess } from "./process.ts";
import { type ServedVersions, UnknownPlaywright } from "./served-versions.ts";

/** How long a start waits: it would take the processor from the first page of a new session. */
const QUIET_MS = 300;
const RETRIES = { firstMs: 500, mostMs: 30_000 };

/** The slot that is handed out next. */
export interface NextSlot {
  /** Attaches the warm Playwright to it. */
  warm(): Promise<void>;
}

export interface WarmPlaywrightOptions {
  served: ServedVersions;
  log: Log;
  start: (version: WireVersion) => PlaywrightProcess;
}

/**
 * The Playwright process that is kept warm: of the newest minor, without an org, attached to the slot that is handed
 * out next. An org gets it for good; another one is started in its place a moment later.
 */
export class WarmPlaywright {
  readonly #options: WarmPlaywrightOptions;
  #process: PlaywrightProcess | null = null;
  #next: NextSlot | null = null;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #isClosed = false;

  constructor(options: WarmPlaywrightOptions) {
    this.#options = options;
  }

  /** The warm process, if there is one now. */
  get current(): PlaywrightProcess | null {
    return this.#process?.isOver === false ? this.#process : null;
  }

  /** The warm process, started now when there is none. */
  get(): PlaywrightProcess {
    const { served, start } = this.#options;
    const { newest } = served;
    if (!newest) throw new UnknownPlaywright();
    if (this.#isClosed) throw new Error("the pool stops");
    if (this.current?.version === newest) return this.current;
    const process = start(newest);
    void this.#process?.end({ reason: "Playwright cannot be confined.", isFault: true });
    this.#process = process;
    process.ready().then(
      () => (this.#failures = 0),
      () => (this.#failures += 1),
    );
    void process.ended.then(() => {
      if (this.#process !== process) return;
      this.#process = null;
      this.#later(this.#failures > 0 ? backoffMs(this.#failures, RETRIES) : RETRIES.firstMs);
    });
    return process;
  }

  /** Gives the warm process away; null when there is none of this minor. */
  take(version: WireVersion): PlaywrightProcess | null {
    const process = this.current;
    if (process?.version !== version) return null;
    this.#process = null;
    this.#later(QUIET_MS);
    return process;
  }

  /** Names the slot that is handed out next; null when none is idle. */
  attachTo(next: NextSlot | null): void {
    if (next === this.#next) return;
    this.#next = next;
    this.#later(QUIET_MS);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  // Counted from the first call: sessions that come one after the other must not put it off for ever.
  #later(ms: number): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.#warm();
    }, ms);
  }

  async #warm(): Promise<void> {
    const next = this.#next;
    try {
      await this.get().ready();
      await next?.warm();
    } catch (error) {
      // A slot that is taken or gone meanwhile is not warmed any more.
      if (next === this.#next && !this.#isClosed)
        this.#options.log.warn({ reason: messageOf(error) }, "playwright_not_warm");
    }
  }
}
