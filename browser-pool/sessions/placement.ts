import type { SlotPlaced } from "@svc/contract/host-protocol/slots.ts";
import type { ProfileFault } from "../profiles/fault.ts";

/** How long a create that was told to wait keeps its place among those who wait: until then it has asked again. */
const PLACE_KEPT_MS = 1_000;

/** The result of a placement: a slot, no slot in time, a kind that is not served here, or a profile that is not loaded. */
export type Placed =
  | { outcome: "placed"; placed: SlotPlaced }
  | { outcome: "none"; error: string }
  | { outcome: "unserved"; hint: string }
  | { outcome: "failed"; fault: ProfileFault };

export const NO_SLOT: Placed = { outcome: "none", error: "No slot became free in time." };

/** The callers of a placement, as its work sees them. */
export interface Wanted {
  /** Aborted when nobody wants the slot any more. */
  signal: AbortSignal;
  /** From now on a slot is waited for: the callers' time for it begins. */
  waits(): void;
  /** A slot was found: from now on callers wait for the result. Resolves with whether one is there, or comes in time. */
  found(): Promise<boolean>;
}

/**
 * A placement under way. Repeated calls wait for the same placement, and so keep its place in the row of those who wait
 * for a slot; the placement is given up when no caller has waited for a moment.
 */
export class Placement {
  readonly #abort = new AbortController();
  readonly #result: Promise<Placed>;
  readonly #waiting = Promise.withResolvers<void>();
  readonly #arrived = Promise.withResolvers<void>();
  #watchers = 0;
  #hasSlot = false;
  #giveUp: NodeJS.Timeout | undefined;

  constructor(work: (wanted: Wanted) => Promise<Placed>) {
    const { signal } = this.#abort;
    this.#result = work({ signal, waits: this.#waiting.resolve, found: () => this.#found() });
  }

  /** Waits for the outcome, as long as its caller does; for a slot no longer than `acquireMs`. */
  async watch(acquireMs: number, caller: AbortSignal): Promise<Placed> {
    this.#watchers += 1;
    clearTimeout(this.#giveUp);
    if (this.#hasSlot) this.#arrived.resolve();
    const left = Promise.withResolvers<Placed>();
    const leave = (): void => left.resolve(NO_SLOT);
    let late: NodeJS.Timeout | undefined;
    let isOver = false;
    void this.#waiting.promise.then(() => {
      if (!isOver) late = setTimeout(() => this.#hasSlot || leave(), acquireMs);
    });
    caller.addEventListener("abort", leave);
    try {
      return await Promise.race([this.#result, left.promise]);
    } finally {
      isOver = true;
      clearTimeout(late);
      caller.removeEventListener("abort", leave);
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#giveUp = setTimeout(() => this.cancel(), PLACE_KEPT_MS);
    }
  }

  /** Takes no slot any more. */
  cancel(): void {
    clearTimeout(this.#giveUp);
    this.#abort.abort();
    this.#arrived.resolve();
  }

  async #found(): Promise<boolean> {
    this.#hasSlot = true;
    if (this.#watchers === 0) await this.#arrived.promise;
    return !this.#abort.signal.aborted;
  }
}
