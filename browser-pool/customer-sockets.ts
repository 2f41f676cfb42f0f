/** How a customer's socket ended: with a close frame, or cut. */
export type SocketEnd = "clean" | "dropped";

/** A customer's open socket: of Playwright's wire protocol or of CDP. */
export interface CustomerSocket {
  /** Closes the socket with a code and a reason. */
  end(code: number, reason: string): void;
}

interface Goodbye {
  code: number;
  reason: string;
}

/** The customer sockets of one session, and how the last of them ended. */
export class CustomerSockets {
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
    // The session ended while this socket was opening.
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

  /** Closes all sockets, and those that are added later. */
  end(code: number, reason: string): void {
    this.#goodbye = { code, reason };
    for (const socket of this.#open) socket.end(code, reason);
  }
}
