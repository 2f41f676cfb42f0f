import type { OnReadOpts, Socket } from "node:net";

const KIB = 1024;
/** A connection begins with the first, and goes on to the next when a read fills its buffer. */
const SIZES = [16 * KIB, 64 * KIB, 256 * KIB];
/** Connections of a browser that may have the largest buffers at a time, two each: 16 MiB. */
const MOST_LARGE = 32;

/** The large buffers of one browser. */
export class IntakeBudget {
  #large = 0;

  take(): boolean {
    if (this.#large >= MOST_LARGE) return false;
    this.#large += 1;
    return true;
  }

  giveBack(): void {
    this.#large -= 1;
  }
}

const intakes = new WeakMap<Socket, Intake>();

/** The intake of a socket that was connected with one. */
export const intakeOf = (socket: Socket): Intake | undefined => intakes.get(socket);

/**
 * Reads a socket into buffers of this connection alone, and has another write from them: fewer and larger reads than a
 * stream makes, and no copy. A buffer is read into again only when it has been written; while the other has enough to write,
 * nothing is read.
 */
export class Intake {
  readonly onread: OnReadOpts;
  readonly #budget: IntakeBudget;
  readonly #free: Uint8Array[] = [];
  #size = 0;
  #to: Socket | null = null;
  #isLarge = false;

  constructor(budget: IntakeBudget) {
    this.#budget = budget;
    this.onread = {
      buffer: () => this.#next(),
      callback: (length, buffer) => this.#pass(length, buffer),
    };
  }

  /** Of a socket that was made with `onread`: it is not read before `into`. */
  holds(socket: Socket): void {
    intakes.set(socket, this);
    socket.pause();
    socket.once("close", () => {
      if (this.#isLarge) this.#budget.giveBack();
    });
  }

  /** From now on what `socket` reads is written to another, which is ended as `socket` ends. */
  into(to: Socket, socket: Socket): void {
    this.#to = to;
    to.on("drain", () => socket.resume());
    socket.once("end", () => to.end());
    socket.resume();
  }

  #next(): Uint8Array {
    const size = SIZES[this.#size] ?? KIB;
    let buffer = this.#free.pop();
    while (buffer && buffer.length < size) buffer = this.#free.pop();
    // Never from the pool that small buffers of others share.
    return buffer ?? Buffer.allocUnsafeSlow(size);
  }

  #pass(length: number, buffer: Uint8Array): boolean {
    if (!this.#to || this.#to.destroyed) return false;
    if (length === buffer.length) this.#grow();
    const bytes = buffer.subarray(0, length);
    const isTaken = this.#to.write(bytes, () => void this.#free.push(buffer));
    return isTaken;
  }

  #grow(): void {
    const next = this.#size + 1;
    if (next >= SIZES.length) return;
    if (next === SIZES.length - 1) {
      this.#isLarge ||= this.#budget.take();
      if (!this.#isLarge) return;
    }
    this.#size = next;
  }
}
