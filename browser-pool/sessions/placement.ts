import type { SlotPlaced } from "@svc/contract/host-protocol/slots.ts";
import type { ProfileFault } from "../profiles/fault.ts";

/** The result of a placement: a slot, no slot in time, a kind that is not served here, or a profile that is not loaded. */
export type Placed =
  | { outcome: "placed"; placed: SlotPlaced }
  | { outcome: "none"; error: string }
  | { outcome: "unserved"; hint: string }
  | { outcome: "failed"; fault: ProfileFault };

/** A placement under way. Repeated calls wait for the same placement; it is given up when no caller waits any more. */
export class Placement {
  readonly #abort = new AbortController();
  readonly #result: Promise<Placed>;
  #watchers = 0;

  constructor(work: (signal: AbortSignal) => Promise<Placed>) {
    this.#result = work(this.#abort.signal);
  }

  /** Waits for the outcome, as long as its caller does. */
  async watch(caller: AbortSignal): Promise<Placed> {
    this.#watchers += 1;
    const leave = (): void => {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.cancel();
    };
    caller.addEventListener("abort", leave);
    try {
      return await this.#result;
    } finally {
      caller.removeEventListener("abort", leave);
    }
  }

  /** Takes no slot any more. */
  cancel(): void {
    this.#abort.abort();
  }
}
