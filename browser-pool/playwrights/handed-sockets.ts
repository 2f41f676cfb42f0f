import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { CustomerSocket, SocketEnd } from "../customer-sockets.ts";
import type { CustomerEvent, Handover, Question } from "./messages.ts";

// No extensions: compressing for a client on the next hop costs more than it saves.
const PASSED = [
  "connection",
  "upgrade",
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-protocol",
  "user-agent",
];

/** Called for a customer's socket that a Playwright has. */
export interface Watch {
  onTraffic: () => void;
  onEnd: (client: CustomerSocket, end: SocketEnd) => void;
}

/** A customer's upgrade as it came. */
export interface Arrival {
  request: IncomingMessage;
  socket: Socket;
  head: Buffer;
}

/** The source of what customers are sent. */
interface Source {
  hold(): void;
  release(): void;
}

interface Client extends CustomerSocket {
  watch: Watch;
  isFull: boolean;
}

/** The customers' sockets of one browser that were handed over to one Playwright. Bytes pass there; here sockets are counted. */
export class HandedSockets {
  readonly #ask: (question: Question) => void;
  readonly #source: Source;
  readonly #clients = new Map<number, Client>();
  #nextId = 1;

  constructor(source: Source, ask: (question: Question) => void) {
    this.#source = source;
    this.#ask = ask;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Counts a customer whose socket is about to be handed over. */
  add(watch: Watch): { id: number; client: CustomerSocket } {
    const id = this.#nextId++;
    const end = (code: number, reason: string): void => this.#ask({ end: id, code, reason });
    const client = { watch, isFull: false, end };
    this.#clients.set(id, client);
    return { id, client };
  }

  /** Takes what the Playwright says of a socket. */
  heard(id: number, event: CustomerEvent): void {
    const client = this.#clients.get(id);
    if (!client) return;
    if (event === "active") client.watch.onTraffic();
    else if (event === "full") this.#hold(client);
    else if (event === "drained") this.#release(client);
    else this.#gone(id, client, event);
  }

  /** Counts every socket as dropped: the Playwright is gone. */
  close(): void {
    for (const [id, client] of this.#clients) this.#gone(id, client, "dropped");
  }

  #gone(id: number, client: Client, end: SocketEnd): void {
    this.#clients.delete(id);
    this.#release(client);
    client.watch.onEnd(client, end);
  }

  #hold(client: Client): void {
    if (client.isFull) return;
    client.isFull = true;
    this.#source.hold();
  }

  #release(client: Client): void {
    if (!client.isFull) return;
    client.isFull = false;
    this.#source.release();
  }
}

/** The message that goes with a socket. Bytes that came early and lie in this process go along. */
export function handoverOf(key: string, client: number, path: string, arrival: Arrival): Handover {
  const { request, socket, head } = arrival;
  const headers: Record<string, string> = {};
  for (const name of PASSED) {
    const value = request.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  const early: unknown = socket.read();
  const bytes = Buffer.isBuffer(early) ? Buffer.concat([head, early]) : head;
  return { key, client, path, headers, head: bytes.toString("base64") };
}
