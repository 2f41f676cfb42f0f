import { LIMITS } from "@svc/contract/limits.ts";

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

/**
 * The customer sockets of one session, and how the last of them ended. The gateway learns both counts, which only grow: a
 * socket that came and went between two heartbeats shows in them.
 */
export class CustomerSockets {
  lastClose: SocketEnd | null = null;
  lastActivityAt = Date.now();
  readonly #open = new Set<CustomerSocket>();
  /** Sockets of the gateway itself: closed with the others, and not counted. */
  readonly #own = new Set<CustomerSocket>();
  readonly #onChange: () => void;
  #opens = 0;
  /** Upgrades under way that no socket has come of yet. */
  readonly #entering = new Set<object>();
  #goodbye: Goodbye | null = null;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Sockets that were opened, ever. */
  get opens(): number {
    return this.#opens;
  }

  /** Sockets that have ended, ever. */
  get closes(): number {
    return this.#opens - this.#open.size;
  }

  /** Runs the upgrade that `ticket` stands for, while the session has place for one more socket. Returns whether it had. */
  async enter(ticket: object, upgrade: () => Promise<void>): Promise<boolean> {
    if (this.#open.size + this.#entering.size >= LIMITS.sessionSockets) return false;
    this.#entering.add(ticket);
    try {
      await upgrade();
    } finally {
      this.#entering.delete(ticket);
    }
    return true;
  }

  /** Counts a socket, before its upgrade is answered. Returns its number among `opens`. `ticket`: of its upgrade. */
  add(socket: CustomerSocket, ticket?: object): number {
    if (ticket) this.#entering.delete(ticket);
    this.#open.add(socket);
    this.#opens += 1;
    this.touch();
    this.#onChange();
    // The session ended while this socket was opening.
    if (this.#goodbye) socket.end(this.#goodbye.code, this.#goodbye.reason);
    return this.#opens;
  }

  /** Takes a socket of the gateway itself. */
  addOwn(socket: CustomerSocket): void {
    this.#own.add(socket);
    if (this.#goodbye) socket.end(this.#goodbye.code, this.#goodbye.reason);
  }

  remove(socket: CustomerSocket, end: SocketEnd): void {
    if (this.#own.delete(socket) || !this.#open.delete(socket)) return;
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
    for (const socket of [...this.#open, ...this.#own]) socket.end(code, reason);
  }
}
