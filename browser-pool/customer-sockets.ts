/** How a customer's socket went: with a close frame, or cut. */
export type SocketEnd = "clean" | "dropped";

/** A customer's open socket, of either kind. */
export interface CustomerSocket {
  /** Closes it with a code and a reason. */
  end(code: number, reason: string): void;
}

interface Goodbye {
  code: number;
  reason: string;
}

/** The customer sockets of one session, and how the last one went. */
export class Sockets {
  lastClose: SocketEnd | null = null;
  lastActivityAt = Date.now();
  readonly #open = new Set<CustomerSocket>();
  readonly #onChange: () => void;
  #goodbye: Goodbye | null = null;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#open.size;
  }

  add(socket: CustomerSocket): void {
    this.#open.add(socket);
    this.touch();
    this.#onChange();
    // The session ended while this socket was on its way.
    if (this.#goodbye) socket.end(this.#goodbye.code, this.#goodbye.reason);
  }

  remove(socket: CustomerSocket, end: SocketEnd): void {
    if (!this.#open.delete(socket)) return;
    this.lastClose = end;
    this.touch();
    this.#onChange();
  }

  touch(): void {
    this.lastActivityAt = Date.now();
  }

  /** Closes all of them, and those that still come. */
  end(code: number, reason: string): void {
    this.#goodbye = { code, reason };
    for (const socket of this.#open) socket.end(code, reason);
  }
}
