import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { closeFrame } from "@svc/host-kit/frames.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import type { CustomerSocket, SocketEnd } from "../customer-sockets.ts";
import { readToEnd } from "../launch/reading.ts";
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

/** A Playwright says nothing of a socket that it never got: after this time the socket counts as dropped. */
const TAKEN_MS = 10_000;

/** How long a client may take to end its side after a goodbye. */
const GOODBYE_MS = 2_000;

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
  /** This process's hold on the socket that the Playwright reads and writes. */
  socket: Socket;
  isTaken: boolean;
  isFull: boolean;
  /** Runs until the Playwright has said that it has the socket. */
  untaken: NodeJS.Timeout;
}

/** The customers' sockets of one browser that were handed over to one Playwright. Bytes pass there; here sockets are counted. */
export class HandedSockets {
  readonly #ask: (question: Question) => void;
  readonly #source: Source;
  readonly #onUntaken: () => void;
  readonly #clients = new Map<number, Client>();
  #nextId = 1;

  /** `onUntaken`: a socket was handed over, and the Playwright has not said that it has the socket. */
  constructor(source: Source, ask: (question: Question) => void, onUntaken: () => void) {
    this.#source = source;
    this.#ask = ask;
    this.#onUntaken = onUntaken;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Counts a customer whose socket is about to be handed over. */
  add(socket: Socket, watch: Watch): { id: number; client: CustomerSocket } {
    const id = this.#nextId++;
    socket.on("error", () => socket.destroy());
    const end = (code: number, reason: string): void => this.#ask({ end: id, code, reason });
    const untaken = setTimeout(() => this.#untaken(id), TAKEN_MS).unref();
    const client = { watch, socket, isTaken: false, isFull: false, untaken, end };
    this.#clients.set(id, client);
    return { id, client };
  }

  /** Counts a socket as dropped that the Playwright does not have, and that its client is told of by another way. */
  lost(id: number): void {
    const client = this.#clients.get(id);
    if (client) this.#forget(id, client, "dropped");
  }

  /** Takes what the Playwright says of a socket. Returns false when there has never been such a socket. */
  heard(id: number, event: CustomerEvent): boolean {
    const client = this.#clients.get(id);
    if (client) this.#happened(id, client, event);
    return client !== undefined || (id > 0 && id < this.#nextId);
  }

  /** Counts every socket as dropped: the Playwright is gone. With a reason, the clients are told it. */
  close(reason: string | null): void {
    for (const [id, client] of this.#clients) {
      if (reason && client.isTaken) sayGoodbye(client.socket, reason);
      else if (reason) refuseUpgrade(client.socket, 502, `${reason}\n`);
      else client.socket.destroy();
      this.#forget(id, client, "dropped");
    }
  }

  #happened(id: number, client: Client, event: CustomerEvent): void {
    clearTimeout(client.untaken);
    client.isTaken = true;
    if (event === "taken") return;
    if (event === "active") client.watch.onTraffic();
    else if (event === "full") this.#hold(client);
    else if (event === "drained") this.#release(client);
    else this.#gone(id, client, event);
  }

  #untaken(id: number): void {
    this.#onUntaken();
    // A Playwright that stood still may take the socket later: uncounted, the client would not keep its session.
    const client = this.#clients.get(id);
    client?.end(CLOSE_CODES.restart, "The browser did not answer in time. Reconnect.");
    if (client) this.#gone(id, client, "dropped");
  }

  #gone(id: number, client: Client, end: SocketEnd): void {
    // While this process holds a socket its connection stays, whatever the Playwright does.
    client.socket.destroy();
    this.#forget(id, client, end);
  }

  #forget(id: number, client: Client, end: SocketEnd): void {
    this.#clients.delete(id);
    clearTimeout(client.untaken);
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

/** Tells a client why its Playwright is gone. A frame that was cut short before makes this part of it: then the connection only breaks. */
function sayGoodbye(socket: Socket, reason: string): void {
  socket.end(closeFrame(CLOSE_CODES.restart, `${reason} Reconnect.`));
  readToEnd(socket);
  setTimeout(() => socket.destroy(), GOODBYE_MS).unref();
}

/** Where a socket goes: the slot's key, the customer's number at this Playwright, its number in the session, the endpoint's path. */
export type Destination = Pick<Handover, "key" | "client" | "opens" | "path">;

/** The message that goes with a socket. Bytes that came early and lie in this process go along. */
export function handoverOf(to: Destination, { request, socket, head }: Arrival): Handover {
  const headers: Record<string, string> = {};
  for (const name of PASSED) {
    const value = request.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  const early: unknown = socket.read();
  const bytes = Buffer.isBuffer(early) ? Buffer.concat([head, early]) : head;
  return { ...to, headers, head: bytes.toString("base64") };
}
