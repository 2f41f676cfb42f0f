/** Limits of time and cost. A try is a task that the provider is paid for. */
export interface CaptchaLimits {
  /** Tries of one page, and how long they may take from the first captcha on. */
  pageTries: number;
  pageMs: number;
  /** Tries of one session in any hour. */
  hourTries: number;
  /** How long a provider may take to answer one call. */
  callMs: number;
}

export const CAPTCHA_LIMITS: CaptchaLimits = {
  pageTries: 3,
  pageMs: 120_000,
  hourTries: 20,
  callMs: 10_000,
};

const HOUR_MS = 3_600_000;

/** The tries of a session. */
export class SessionBudget {
  readonly #limits: CaptchaLimits;
  #spentAt: number[] = [];

  constructor(limits: CaptchaLimits) {
    this.#limits = limits;
  }

  openPage(): PageBudget {
    return new PageBudget(this.#limits, () => this.#take());
  }

  #take(): boolean {
    const now = performance.now();
    this.#spentAt = this.#spentAt.filter((at) => now - at < HOUR_MS);
    if (this.#spentAt.length >= this.#limits.hourTries) return false;
    this.#spentAt.push(now);
    return true;
  }
}

/** The tries of a page: of one document of a tab and the frames in it. */
export class PageBudget {
  readonly #limits: CaptchaLimits;
  readonly #takeOfSession: () => boolean;
  readonly #gone = new AbortController();
  #late: AbortSignal | null = null;
  #tries = 0;

  constructor(limits: CaptchaLimits, takeOfSession: () => boolean) {
    this.#limits = limits;
    this.#takeOfSession = takeOfSession;
  }

  /** Ends when the page has gone, or its time is over. The time begins with the first call. */
  get signal(): AbortSignal {
    this.#late ??= AbortSignal.timeout(this.#limits.pageMs);
    return AbortSignal.any([this.#gone.signal, this.#late]);
  }

  get isGone(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Whether no try is left that `take` would give, whatever the session has left. */
  get isSpent(): boolean {
    return this.#tries >= this.#limits.pageTries || this.#late?.aborted === true;
  }

  /** Takes a try. Null: it is granted; else why not. */
  take(): string | null {
    const { pageTries, hourTries } = this.#limits;
    if (this.#tries >= pageTries) return `${pageTries} tries of this page are spent`;
    if (!this.#takeOfSession()) return `${hourTries} tries of this session in an hour are spent`;
    this.#tries += 1;
    return null;
  }

  leave(): void {
    this.#gone.abort();
  }
}
