import type { ClientCall } from "../cdp/call.ts";
import { Hand, type MouseWire } from "./hand.ts";

/** Pages with a mouse of their own. The mouse of the longest idle one is forgotten. */
const MOST_HANDS = 256;

/**
 * Has the mouse of one client move as a hand moves it: along a path, at a hand's pace, with a press that lasts. Stands
 * between the client and the multiplexer. Drags, the wheel, fingers and keys are as the client has them, in their order.
 */
export class HumanMouse {
  readonly #wire: MouseWire;
  readonly #random: () => number;
  readonly #hands = new Map<string, Hand>();
  #isClosed = false;

  constructor(wire: MouseWire, random: () => number = Math.random) {
    this.#wire = wire;
    this.#random = random;
  }

  /** Takes each call of the client, in the order in which the client sends them. */
  send(call: ClientCall): void {
    const { method, sessionId } = call;
    if (sessionId === undefined || !method.startsWith("Input.")) this.#wire.pass(call);
    else if (!this.#isClosed) this.#handOf(sessionId).take(call);
  }

  /** Nothing more is sent: the client has gone. */
  close(): void {
    this.#isClosed = true;
    for (const hand of this.#hands.values()) hand.close();
    this.#hands.clear();
  }

  #handOf(sessionId: string): Hand {
    const known = this.#hands.get(sessionId);
    const hand = known ?? new Hand(sessionId, this.#wire, this.#random);
    // The last one of the list is the one that was last in use.
    this.#hands.delete(sessionId);
    this.#hands.set(sessionId, hand);
    if (this.#hands.size > MOST_HANDS) this.#forgetOne();
    return hand;
  }

  #forgetOne(): void {
    for (const [sessionId, hand] of this.#hands) {
      if (hand.isBusy) continue;
      this.#hands.delete(sessionId);
      return;
    }
  }
}
