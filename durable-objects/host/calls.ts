import { LIMITS } from "@svc/contract/limits.ts";
import { isRecent } from "@svc/contract/time.ts";
import { atMost } from "../live/deadline.ts";

/** After so long without an answer a call counts as lost, and another one may be made. */
const lostMs = 60_000;

/**
 * The calls of a host's object to other objects, the fleet and D1. Each is waited for `LIMITS.heartbeatCallMs`. While a
 * call has no answer, no other one is made to the same callee: the older one must not be taken last, and an object that
 * hangs costs its host one wait, not one for each heartbeat.
 */
export class HostCalls {
  /** When the call under way to each callee was made. */
  readonly #underWay = new Map<string, number>();

  /** The answer of `work`. Rejects when the answer is late, or an earlier call to `callee` has none yet. */
  async ask<T>(callee: string, work: () => Promise<T>): Promise<T> {
    const now = Date.now();
    const since = this.#underWay.get(callee);
    if (since !== undefined && isRecent(since, lostMs, now))
      throw new Error("an earlier call has no answer yet");
    this.#underWay.set(callee, now);
    return atMost(LIMITS.heartbeatCallMs, this.#run(callee, now, work));
  }

  async #run<T>(callee: string, since: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      if (this.#underWay.get(callee) === since) this.#underWay.delete(callee);
    }
  }
}
