import { ANY_EXIT, type ExitWish, LADDER, type Rung } from "@svc/contract/host-protocol/exits.ts";
import type { Slot } from "../slots/slot.ts";
import type { Exit } from "./exits.ts";

/** How long blocks are left alone once no rung above works: to try each time would hold every blocked page. */
const REST_MS = 60_000;

/** Opens an exit that works; null when none does. */
type OpenExit = (wish: ExitWish, signal: AbortSignal) => Promise<Exit | null>;

/** The way of a session up the exits of the managed proxy: a rung for each block, never down again. */
export class Ladder {
  readonly rungs: Rung[] = [];
  readonly #slot: Slot;
  readonly #open: OpenExit;
  readonly #onClimb: (rung: Rung) => void;
  readonly #ended = new AbortController();
  /** The tiers above, from below. */
  #above: readonly (typeof LADDER)[number][] = LADDER;
  #restsUntil = 0;
  #climbing: Promise<boolean> | null = null;

  constructor(slot: Slot, open: OpenExit, onClimb: (rung: Rung) => void) {
    this.#slot = slot;
    this.#open = open;
    this.#onClimb = onClimb;
    void slot.died.then(() => this.#ended.abort());
  }

  /** How many rungs it has climbed. */
  get height(): number {
    return this.rungs.length;
  }

  /**
   * Climbs to the next rung that works; false when there is none. A block that was met from a lower rung, or while it climbs, is
   * of the same climb. `from`: the height at which the blocked page was asked for.
   */
  climb(reason: string, from: number): Promise<boolean> {
    if (from < this.height) return Promise.resolve(true);
    this.#climbing ??= this.#climb(reason).finally(() => (this.#climbing = null));
    return this.#climbing;
  }

  async #climb(reason: string): Promise<boolean> {
    if (performance.now() < this.#restsUntil) return false;
    for (const [at, tier] of this.#above.entries()) {
      const exit = await this.#open({ ...ANY_EXIT, tier }, this.#ended.signal);
      if (this.#ended.signal.aborted) return false;
      if (!exit) continue;
      this.#above = this.#above.slice(at + 1);
      // The page that is held answers no override before it is let go, and has it by its first script all the same.
      void this.#slot.leaveBy(exit);
      const rung = { ...exit.applied, reason, at: Date.now() };
      this.rungs.push(rung);
      this.#onClimb(rung);
      return true;
    }
    if (this.#above.length > 0) this.#restsUntil = performance.now() + REST_MS;
    return false;
  }
}
