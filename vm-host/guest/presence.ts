import { OWN_END_MS } from "@svc/contract/control-channel/overdue.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";

/** An answer that takes longer is asked about. */
const LOOK_MS = 15_000;
/** An agent that answers nothing for so long is gone; longer than the agent needs for the end of a late method. */
export const SILENCE_MS = OWN_END_MS + 25_000;

/** Whether the agent of a machine answers at all: looked at while somebody waits for it. */
export class Presence {
  readonly #ping: () => Promise<unknown>;
  #looking: Promise<void> | null = null;

  constructor(ping: () => Promise<unknown>) {
    this.#ping = ping;
  }

  /** The answer, however late. Rejects with `Disconnected` when the agent has gone or hangs meanwhile. */
  async answered<Result>(answer: Promise<Result>): Promise<Result> {
    for (;;) {
      const first = await inTime(answer, LOOK_MS);
      if (first !== LATE) return first;
      // A late answer is taken while the agent is looked at, too.
      await Promise.race([answer, this.#look()]);
    }
  }

  /** One look for all who wait. */
  #look(): Promise<void> {
    return (this.#looking ??= this.#ask().finally(() => (this.#looking = null)));
  }

  async #ask(): Promise<void> {
    if ((await inTime(this.#ping(), SILENCE_MS)) === LATE) throw silent();
  }
}

/** The agent of a machine has gone or hangs: the machine itself may run on. */
export const silent = () => refuse("Disconnected", "The agent of this machine does not answer.");
