import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";

/** The first heartbeat that tells the gateway of a warm browser, or why there is none. Creates wait for it. */
export class FirstReport {
  /** Resolves when the gateway has answered that heartbeat. */
  readonly heard: Promise<void>;
  readonly #isWarmWanted: boolean;
  readonly #heard = Promise.withResolvers<void>();
  #isHeard = false;

  constructor(isWarmWanted: boolean) {
    this.#isWarmWanted = isWarmWanted;
    this.heard = this.#heard.promise;
  }

  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** Takes a heartbeat that the gateway has answered. */
  answered({ kinds: { fast } }: PoolHeartbeat): void {
    if (this.#isWarmWanted && !fast?.idle && !fast?.hint) return;
    this.#isHeard = true;
    this.#heard.resolve();
  }
}
