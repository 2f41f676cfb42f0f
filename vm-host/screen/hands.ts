import { setTimeout as wait } from "node:timers/promises";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { chordOf, keysymOf } from "./keysyms.ts";
import { type Point, stepsOf } from "./path.ts";
import type { RfbClient } from "./rfb-client.ts";

export type Button = "left" | "middle" | "right";

const BUTTONS: Record<Button, number> = { left: 1, middle: 2, right: 4 };
/** A step of a wheel is a button that goes down and up. */
const WHEEL = { up: 8, down: 16, left: 32, right: 64 } as const;
/** How often the pointer of a drag moves. */
const DRAG_STEP_MS = 16;
/** So many characters are typed until the screen has taken them. */
const TYPED_AT_ONCE = 50;

/** The client that presses a button, and how long the button stays down once the client has gone. */
interface Hold {
  by: object;
  holdMs: number;
}

interface Drag {
  button: Button;
  durationMs: number;
  signal: AbortSignal;
}

/** The connection to a screen for what is done on it; new: no button of it is down. */
interface Touched {
  used(): Promise<{ client: RfbClient; isNew: boolean }>;
}

/** Mouse and keyboard of a desktop, for all who use it by `computer.*`: one thing is done after the other. */
export class Hands {
  readonly #screen: Touched;
  #at: Point = { x: 0, y: 0 };
  #buttons = 0;
  readonly #holds = new Map<Button, Hold>();
  #tail: Promise<unknown> = Promise.resolve();

  readonly #where: () => Promise<Point>;

  /** `where`: asks the desktop where its pointer is, which viewers and programs move as well. */
  constructor(screen: Touched, where: () => Promise<Point>) {
    this.#screen = screen;
    this.#where = where;
  }

  move(to: Point): Promise<void> {
    return this.#do((client) => this.#moveTo(client, to));
  }

  /** Presses a button, which is down until any client lets go of it, or the client that pressed it last has gone. */
  hold(button: Button, hold: Hold): Promise<void> {
    this.#holds.set(button, hold);
    return this.#press(button, true);
  }

  letGo(button: Button): Promise<void> {
    this.#holds.delete(button);
    return this.#press(button, false);
  }

  /** A client has gone: each button that it holds goes up, at once or `holdMs` later. */
  left(by: object): void {
    for (const [button, hold] of this.#holds) {
      if (hold.by !== by) continue;
      const release = (): void => {
        if (this.#holds.get(button) === hold) void this.letGo(button).catch(() => null);
      };
      if (hold.holdMs > 0) setTimeout(release, hold.holdMs).unref();
      else release();
    }
  }

  click(button: Button, count: number, to: Point | null): Promise<void> {
    return this.#do(async (client) => {
      await (to ? this.#moveTo(client, to) : this.#look());
      for (let clicks = 0; clicks < count; clicks += 1) this.#pulse(client, BUTTONS[button]);
    });
  }

  scroll(dx: number, dy: number, to: Point | null): Promise<void> {
    return this.#do(async (client) => {
      await (to ? this.#moveTo(client, to) : this.#look());
      const across = dx > 0 ? WHEEL.right : WHEEL.left;
      const along = dy > 0 ? WHEEL.down : WHEEL.up;
      for (let steps = 0; steps < Math.abs(dx); steps += 1) this.#pulse(client, across);
      for (let steps = 0; steps < Math.abs(dy); steps += 1) this.#pulse(client, along);
    });
  }

  /** Along the straight lines between places. The button is up again whatever happens on the way. */
  drag(path: readonly Point[], { button, durationMs, signal }: Drag): Promise<void> {
    return this.#do(async (client) => {
      const [first, ...rest] = path;
      if (!first) return;
      signal.throwIfAborted();
      for (const to of rest) await this.#check(client, to);
      await this.#moveTo(client, first);
      const before = this.#buttons;
      this.#point(client, before | BUTTONS[button]);
      try {
        for (const to of stepsOf(path, durationMs / DRAG_STEP_MS)) {
          if (durationMs > 0) await wait(DRAG_STEP_MS, undefined, { signal });
          signal.throwIfAborted();
          for (const at of to) {
            this.#at = at;
            this.#point(client, this.#buttons);
            // A screen makes one of several moves that it has not looked at yet: no corner may be lost so.
            if (to.length > 1) await client.settle();
          }
        }
      } finally {
        this.#point(client, before);
      }
    });
  }

  type(text: string, delayMs: number, signal: AbortSignal): Promise<void> {
    return this.#do(async (client) => {
      for (const [at, character] of Array.from(text).entries()) {
        signal.throwIfAborted();
        this.#stroke(client, [keysymOf(character)]);
        if (delayMs > 0) await wait(delayMs, undefined, { signal });
        else if (at % TYPED_AT_ONCE === TYPED_AT_ONCE - 1) await client.settle();
      }
    });
  }

  key(chord: string, repeat: number, signal: AbortSignal): Promise<void> {
    const keys = chordOf(chord);
    return this.#do(async (client) => {
      for (let times = 0; times < repeat; times += 1) {
        signal.throwIfAborted();
        this.#stroke(client, keys);
      }
    });
  }

  #press(button: Button, isDown: boolean): Promise<void> {
    return this.#do(async (client) => {
      await this.#look();
      const bit = BUTTONS[button];
      this.#point(client, isDown ? this.#buttons | bit : this.#buttons & ~bit);
    });
  }

  /** All keys go down and up at once: nothing comes in between, and none stays down. */
  #stroke(client: RfbClient, keys: readonly number[]): void {
    for (const key of keys) client.key(key, true);
    for (const key of keys.toReversed()) client.key(key, false);
  }

  #pulse(client: RfbClient, bit: number): void {
    const before = this.#buttons;
    this.#point(client, before | bit);
    this.#point(client, before & ~bit);
  }

  #point(client: RfbClient, buttons: number): void {
    this.#buttons = buttons;
    client.pointer(this.#at.x, this.#at.y, buttons);
  }

  /** Where the pointer is. While a button of ours is down it is where we have moved it. */
  async #look(): Promise<void> {
    if (this.#buttons === 0) this.#at = await this.#where();
  }

  async #moveTo(client: RfbClient, to: Point): Promise<void> {
    await this.#check(client, to);
    this.#at = to;
    this.#point(client, this.#buttons);
  }

  /** Another viewer may have made the screen larger since it was seen last. */
  async #check(client: RfbClient, { x, y }: Point): Promise<void> {
    const isOn = (): boolean => x >= 0 && y >= 0 && x < client.size.width && y < client.size.height;
    if (!isOn()) await client.settle();
    if (isOn()) return;
    const { width, height } = client.size;
    throw refuse("OutOfBounds", `${x},${y} is not on the screen, which has ${width}x${height}.`);
  }

  /** One after the other; done when the screen has taken it. A connection that is new has no button down. */
  #do(work: (client: RfbClient) => Promise<void>): Promise<void> {
    const done = this.#tail.then(async () => {
      const { client, isNew } = await this.#screen.used();
      if (isNew) this.#buttons = 0;
      await work(client);
      await client.settle();
    });
    this.#tail = done.catch(() => null);
    return done;
  }
}
