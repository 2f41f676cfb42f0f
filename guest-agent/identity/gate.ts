import type { Identity } from "@svc/contract/control-channel/identity.ts";

/** Who the machine is, once it has been told: nothing is answered before. */
export class Gate {
  #identity: Identity | null = null;
  #last: Identity | null = null;
  #opened = Promise.withResolvers<Identity>();

  /** The identity of this life; null while the host has not said it. */
  get identity(): Identity | null {
    return this.#identity;
  }

  /** The identity of this life or, until it is said, of the one before. */
  get last(): Identity | null {
    return this.#last;
  }

  /** A new life has begun: wait for its identity. */
  close(): void {
    if (this.#identity === null) return;
    this.#identity = null;
    this.#opened = Promise.withResolvers();
  }

  open(identity: Identity): void {
    this.#identity = identity;
    this.#last = identity;
    this.#opened.resolve(identity);
  }

  /** Resolves when the identity is set; rejects when the waiter gives up. */
  async passed(signal: AbortSignal): Promise<Identity> {
    if (this.#identity) return this.#identity;
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = () => reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await Promise.race([this.#opened.promise, promise]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }
}
