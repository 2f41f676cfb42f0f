/** A slot, as a Playwright process knows it. */
export interface Tenant {
  /** The org whose session the slot has; null before it has one. */
  readonly org: string | null;
}

/** A process that ends loses its connections within this time before its end is known. */
const LOSS_MS = 2_000;

/** The tie of a slot to a Playwright process: only while it lasts is that process attached to the browser of the slot. */
export interface Tie {
  /** Aborted when the tie has ended. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * The slots that a Playwright process is attached to, or is being attached to. They are those of one org; before the
 * process has an org they are those that have no session.
 */
export class Ties {
  readonly #ends = new Map<AbortController, Tenant>();
  readonly #onUse: (isUsed: boolean) => void;
  #org: string | null = null;
  /** When ties have ended lately. Monotonic clock. */
  #endedAt: number[] = [];

  /** `onUse`: told when the first tie begins and when the last one has ended. */
  constructor(onUse: (isUsed: boolean) => void) {
    this.#onUse = onUse;
  }

  get org(): string | null {
    return this.#org;
  }

  get size(): number {
    return this.#ends.size;
  }

  /** How many slots an end of the process at this moment concerns: its connections have broken already. */
  get concerned(): number {
    const since = performance.now() - LOSS_MS;
    return this.size + this.#endedAt.filter((at) => at > since).length;
  }

  /** Gives the process to an org for good. Ends the ties to all slots that are not that org's, before this returns. */
  serve(org: string): void {
    if (this.#org !== null && this.#org !== org)
      throw new Error("a Playwright process has one org");
    this.#org = org;
    for (const [end, tenant] of this.#ends) if (tenant.org !== org) this.#end(end);
  }

  /** Ties a slot to the process. Throws for a slot of another org. */
  add(tenant: Tenant): Tie {
    if (tenant.org !== this.#org) throw new Error("a Playwright process has slots of its org only");
    const end = new AbortController();
    this.#ends.set(end, tenant);
    if (this.#ends.size === 1) this.#onUse(true);
    return { signal: end.signal, end: () => this.#end(end) };
  }

  /** Ends all ties: the process is gone. */
  clear(): void {
    for (const end of this.#ends.keys()) this.#end(end);
  }

  #end(end: AbortController): void {
    if (!this.#ends.delete(end)) return;
    const now = performance.now();
    this.#endedAt = [...this.#endedAt.filter((at) => at > now - LOSS_MS), now];
    end.abort();
    if (this.#ends.size === 0) this.#onUse(false);
  }
}
