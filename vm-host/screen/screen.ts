import { setTimeout as wait } from "node:timers/promises";
import type { Duplex } from "node:stream";
import { isRefused, refuse } from "@svc/contract/control-channel/refusals.ts";
import { sizeOfScreen } from "@svc/contract/vm/machine.ts";
import { Hands } from "./hands.ts";
import type { Point } from "./path.ts";
import { type Picture, RfbClient } from "./rfb-client.ts";
import { type StillWish, type Stillness, untilStill } from "./stillness.ts";

/** Where the screen of a desktop listens inside its machine (images/desktop/desktop.sh). */
export const SCREEN_PORT = 5901;
/** How often it is tried whether a screen is up. */
const TRY_MS = 50;
/** How many may wait at once until a screen rests: each has a connection, and a picture of the screen. */
const MOST_WAITING = 4;

/** The screen of a desktop: one connection of the host, made when it is needed. */
export class Screen {
  readonly #dial: () => Promise<Duplex>;
  readonly hands: Hands;
  #client: Promise<RfbClient> | null = null;
  #usedLast: RfbClient | null = null;
  #waiting = 0;

  constructor(dial: () => Promise<Duplex>, where: () => Promise<Point>) {
    this.#dial = dial;
    this.hands = new Hands(this, where);
  }

  /**
   * Waits until the screen of a machine that has just begun is there, and makes it the size that is wanted. Nobody waits for
   * it any more when `givenUp` is aborted: then it is left as it is.
   */
  async begin(resolution: string, limitMs: number, givenUp: AbortSignal): Promise<void> {
    const until = performance.now() + limitMs;
    while (!givenUp.aborted) {
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

  /** Waits until the screen rests. */
  async still(wish: StillWish, signal: AbortSignal): Promise<Stillness> {
    if (this.#waiting >= MOST_WAITING)
      throw refuse("Busy", `${MOST_WAITING} requests wait for this screen already.`);
    this.#waiting += 1;
    try {
      return await untilStill(await RfbClient.open(await this.#dial()), wish, signal);
    } finally {
      this.#waiting -= 1;
    }
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
