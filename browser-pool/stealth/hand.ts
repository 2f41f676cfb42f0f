import { setTimeout as sleep } from "node:timers/promises";
import { inTime } from "@svc/host-kit/deadline.ts";
import * as z from "zod";
import type { ClientCall } from "../cdp/call.ts";
import { type JsonObject, isObject } from "../cdp/envelope.ts";
import { type Point, entryFor, pathBetween } from "./path.ts";

/** Shorter ways have no path: a client that makes its own path has its own steps. */
const NEAR_PX = 8;
/** How long a press lasts. */
const PRESS_MS = { shortest: 45, longest: 110 };
/** A page that is busy for longer gets no path. */
const BUSY_MS = 500;
/** With more calls waiting, the client is in a hurry: its calls go on as they come. */
const MOST_WAITING = 32;

const Mouse = z.object({
  type: z.enum(["mouseMoved", "mousePressed", "mouseReleased", "mouseWheel"]),
  x: z.number(),
  y: z.number(),
  buttons: z.number().default(0),
  pointerType: z.literal("mouse").default("mouse"),
});

/** The client's calls on their way to the browser. */
export interface MouseWire {
  /** Sends a call of the client. */
  pass(call: ClientCall): void;
  /** Moves the mouse in a session of the client, without the client. Resolves when the page has had the move. */
  move(sessionId: string, params: JsonObject): Promise<unknown>;
}

type MouseCall = z.infer<typeof Mouse>;

/** The hand on the mouse of one page: input of the page waits for what the hand is at. */
export class Hand {
  readonly #sessionId: string;
  readonly #wire: MouseWire;
  readonly #random: () => number;
  readonly #waiting: ClientCall[] = [];
  #rest = new AbortController();
  #at: Point | null = null;
  #pressedAt = 0;
  #isBusy = false;

  constructor(sessionId: string, wire: MouseWire, random: () => number) {
    this.#sessionId = sessionId;
    this.#wire = wire;
    this.#random = random;
  }

  /** Whether calls wait, or one is on its way. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  take(call: ClientCall): void {
    this.#waiting.push(call);
    // A long call has its parameters as bytes: those are not kept.
    if (this.#waiting.length > MOST_WAITING || call.rawParams) this.#rest.abort();
    if (!this.#isBusy) void this.#work();
  }

  close(): void {
    this.#waiting.length = 0;
    this.#rest.abort();
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let call = this.#waiting[0]; call; call = this.#waiting[0]) {
      const mouse =
        call.method === "Input.dispatchMouseEvent" ? Mouse.safeParse(call.params) : null;
      if (mouse?.data && !this.#rest.signal.aborted) await this.#lead(mouse.data, call);
      // Gone meanwhile: the client has left.
      if (this.#waiting.shift() !== call) break;
      if (mouse?.data) this.#note(mouse.data);
      this.#wire.pass(call);
    }
    this.#isBusy = false;
    this.#rest = new AbortController();
  }

  #note({ type, x, y }: MouseCall): void {
    this.#at = { x, y };
    if (type === "mousePressed") this.#pressedAt = performance.now();
  }

  /** Does what a hand does before this event. */
  async #lead(mouse: MouseCall, call: ClientCall): Promise<void> {
    if (mouse.type === "mouseReleased") await this.#press();
    // With a button down it is a drag.
    else if (mouse.type === "mouseMoved" && mouse.buttons === 0) await this.#go(mouse, call);
  }

  async #press(): Promise<void> {
    const { shortest, longest } = PRESS_MS;
    const ms = shortest + this.#random() * (longest - shortest);
    await this.#pause(this.#pressedAt + ms - performance.now());
  }

  async #go(to: MouseCall, call: ClientCall): Promise<void> {
    const from = this.#at ?? entryFor(to, this.#random);
    if (Math.hypot(to.x - from.x, to.y - from.y) < NEAR_PX) return;
    for (const { x, y, afterMs } of pathBetween(from, to, this.#random)) {
      const params = { ...(isObject(call.params) && call.params), x, y };
      const hasMoved = this.#wire.move(this.#sessionId, params).then(
        () => true,
        () => false,
      );
      if ((await inTime(hasMoved, BUSY_MS)) !== true) return;
      await this.#pause(afterMs);
      if (this.#rest.signal.aborted) return;
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    // A hand in a hurry does not rest.
    await sleep(ms, null, { signal: this.#rest.signal }).catch(() => {});
  }
}
