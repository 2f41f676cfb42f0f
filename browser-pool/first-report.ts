import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";

/** The first heartbeat that tells the gateway of a warm browser of each kind, or why there is none. Creates wait for it. */
export class FirstReport {
  /** Resolves when the gateway has answered that heartbeat. */
  readonly heard: Promise<void>;
  readonly #wanted: BrowserKind[];
  readonly #heard = Promise.withResolvers<void>();
  #isHeard = false;

  /** `wanted`: the kinds of which browsers are kept warm. */
  constructor(wanted: BrowserKind[]) {
    this.#wanted = wanted;
    this.heard = this.#heard.promise;
  }

  get isHeard(): boolean {
    return this.#isHeard;
  }

  /** Takes a heartbeat that the gateway has answered. */
  answered({ kinds }: PoolHeartbeat): void {
    const isTold = (kind: BrowserKind): boolean => Boolean(kinds[kind]?.idle || kinds[kind]?.hint);
    if (!this.#wanted.every(isTold)) return;
    this.#isHeard = true;
    this.#heard.resolve();
  }
}
