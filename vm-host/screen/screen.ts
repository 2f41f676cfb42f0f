import { setTimeout as wait } from "node:timers/promises";
import type { Duplex } from "node:stream";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import { sizeOfScreen } from "@svc/contract/vm/machine.ts";
import { Hands, type Point } from "./hands.ts";
import { type Picture, RfbClient } from "./rfb-client.ts";

/** Where the screen of a desktop listens inside its machine (images/desktop/desktop.sh). */
export const SCREEN_PORT = 5901;
/** How often it is tried whether a screen is up. */
const TRY_MS = 50;

/** The screen of a desktop: one connection of the host, made when it is needed. */
export class Screen {
  readonly #dial: () => Promise<Duplex>;
  readonly hands: Hands;
  #client: Promise<RfbClient> | null = null;
  #usedLast: RfbClient | null = null;

  constructor(dial: () => Promise<Duplex>, where: () => Promise<Point>) {
    this.#dial = dial;
    this.hands = new Hands(this, where);
  }

  /** Waits until the screen of a machine that has just begun is there, and makes it the size that is wanted. */
  async begin(resolution: string, limitMs: number): Promise<void> {
    const until = performance.now() + limitMs;
    for (;;) {
      try {
        const client = await this.client();
        return await client.resize(sizeOfScreen(resolution));
      } catch (error) {
        // Nothing listens yet.
        if (!isRefused(error, "ConnectionRefused") || performance.now() > until) throw error;
        await wait(TRY_MS);
      }
    }
  }

  /** The connection for what is done on the screen; new: no button of it is down. */
  async used(): Promise<{ client: RfbClient; isNew: boolean }> {
    const client = await this.client();
    const isNew = this.#usedLast !== client;
    this.#usedLast = client;
    return { client, isNew };
  }

  /** The screen as it is now. */
  async capture(): Promise<Picture> {
    return (await this.client()).capture();
  }

  /** The connection, another one where the last has ended. */
  client(): Promise<RfbClient> {
    const open = async (): Promise<RfbClient> => RfbClient.open(await this.#dial());
    const client = this.#client
      ? this.#client.then((known) => (known.isClosed ? open() : known), open)
      : open();
    client.catch(() => null);
    this.#client = client;
    return client;
  }
}
