import { LIMITS } from "@svc/contract/limits.ts";
import { STALL_MS } from "@svc/host-kit/backlog.ts";
import type { CdpPipe } from "./pipe.ts";

const WATCH_MS = 1_000;

/** A client, as a sender of calls to the browser. */
export interface Sender {
  /** Bytes of a call that is not complete. */
  readonly gatheredBytes: number;
  /** Stops reading from it. */
  hold(): void;
  release(): void;
  /** Cuts its connection. */
  cut(): void;
}

/**
 * Bounds the bytes on their way to one browser: what its pipe has not taken, and the calls that its clients have begun.
 * While there are too many, one client alone may go on, so that its call gets complete; the others are not read.
 */
export class Inflow {
  readonly #pipe: CdpPipe;
  readonly #senders = new Set<Sender>();
  readonly #held = new Set<Sender>();
  /** The one that goes on, and what it had sent when it was looked at. */
  #first: Sender | null = null;
  #seenBytes = 0;
  #movedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #isAwaited = false;

  constructor(pipe: CdpPipe) {
    this.#pipe = pipe;
  }

  add(sender: Sender): void {
    this.#senders.add(sender);
  }

  remove(sender: Sender): void {
    this.#senders.delete(sender);
    this.#held.delete(sender);
    this.check();
  }

  /** Call this when a sender has sent something, or a call of its is complete. */
  check(): void {
    if (this.#senders.size === 0 || !this.#isOver()) this.#releaseAll();
    else this.#choose();
  }

  #isOver(): boolean {
    let bytes = this.#pipe.waitingBytes;
    for (const sender of this.#senders) bytes += sender.gatheredBytes;
    return bytes > LIMITS.sessionHeldBytes;
  }

  #choose(): void {
    const isFull = this.#pipe.waitingBytes > LIMITS.sessionHeldBytes / 2;
    const isGathering = this.#first !== null && this.#first.gatheredBytes > 0;
    if (isFull) this.#first = null;
    else if (!isGathering || !this.#first || !this.#senders.has(this.#first)) this.#next();
    for (const sender of this.#senders) {
      if (sender === this.#first) this.#release(sender);
      else this.#hold(sender);
    }
    this.#timer ??= setInterval(() => this.#watch(), WATCH_MS);
    if (this.#isAwaited || this.#pipe.waitingBytes === 0) return;
    this.#isAwaited = true;
    this.#pipe.whenWritable(() => {
      this.#isAwaited = false;
      this.check();
    });
  }

  /** The one whose call is nearest to its end, as far as one can tell. */
  #next(): void {
    const [longest] = [...this.#senders].toSorted((a, b) => b.gatheredBytes - a.gatheredBytes);
    this.#first = longest ?? null;
    this.#seenBytes = -1;
    this.#movedAt = performance.now();
  }

  // A client that stops in the middle of a call must not stop the others for good.
  #watch(): void {
    const first = this.#first;
    if (first && first.gatheredBytes !== this.#seenBytes) {
      this.#seenBytes = first.gatheredBytes;
      this.#movedAt = performance.now();
    }
    if (first && performance.now() - this.#movedAt >= STALL_MS) first.cut();
    else this.check();
  }

  #hold(sender: Sender): void {
    if (this.#held.has(sender)) return;
    this.#held.add(sender);
    sender.hold();
  }

  #release(sender: Sender): void {
    if (this.#held.delete(sender)) sender.release();
  }

  #releaseAll(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    this.#first = null;
    for (const sender of this.#held) this.#release(sender);
  }
}
