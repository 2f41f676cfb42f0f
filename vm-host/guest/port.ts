import type { Duplex } from "node:stream";
import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import { Link } from "@svc/contract/control-channel/link.ts";
import { type NotificationHandler, RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import { transportOf } from "./transport.ts";

export type HostClient = RpcClient<typeof HOST_METHODS>;

/** One port of a guest: the host's own connection, and those of customers. */
export class GuestPort {
  readonly #link: Link;
  readonly #listeners = new Set<NotificationHandler>();
  #client: HostClient | null = null;

  /** Begins a life of the port by the word that the agent waits for. */
  constructor(socket: Duplex, word: Uint8Array) {
    const hear: NotificationHandler = (method, params) => {
      for (const listener of this.#listeners) listener(method, params);
    };
    const accept = (_connection: number, wire: Wire): Receiver => {
      this.#client = new RpcClient(wire, HOST_METHODS, hear);
      return this.#client;
    };
    const transport = transportOf(socket);
    this.#link = new Link({ transport, word, accept, isGuest: false });
    socket.on("data", (chunk: Buffer) => this.#link.receive(chunk));
    // What follows is its close.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#link.closed("The machine is gone."));
    this.#link.sync();
  }

  /** The host's own connection. Another one after the agent has begun anew. */
  get client(): HostClient {
    if (!this.#client) throw new Error("a port without its first connection");
    return this.#client;
  }

  /** Begins the next life by its word. */
  begin(): void {
    this.#link.sync();
  }

  useWord(word: Uint8Array): void {
    this.#link.useWord(word);
  }

  /** Opens a connection for a customer. Null when all numbers are in use. */
  open(receive: (wire: Wire) => Receiver): { close(reason: string): void } | null {
    const connection = this.#link.open((_number, wire) => receive(wire));
    if (connection === null) return null;
    return { close: (reason) => this.#link.close(connection, reason) };
  }

  /** Hears notifications until the returned function is called. */
  listen(listener: NotificationHandler): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
