import type { Duplex } from "node:stream";
import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import { Link } from "@svc/contract/control-channel/link.ts";
import type { NotificationHandler } from "@svc/contract/control-channel/rpc-calls.ts";
import { RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { TimeShare } from "./time-share.ts";
import { transportOf } from "./transport.ts";

export type HostClient = RpcClient<typeof HOST_METHODS>;

/** How long an agent may take to answer what has no time of its own. */
export const AGENT_ANSWER_MS = 60_000;

/** Longest text of an agent to its host: parsed, a text may take many times its size. What is longer comes as bytes. */
const AGENT_TEXT_BYTES = 64 * 1024;

export interface GuestPortOptions {
  /** The word that the agent waits for. */
  word: Uint8Array;
  /** Shared by all ports of a machine. */
  share?: TimeShare;
  /** The guest broke the contract, and lost a connection by it. */
  onBreach?: (reason: string) => void;
}

/** One port of a guest: the host's own connection, and those of customers. Nothing that a guest says throws beyond its port. */
export class GuestPort {
  readonly #link: Link;
  readonly #socket: Duplex;
  readonly #listeners = new Set<NotificationHandler>();
  readonly #share: TimeShare;
  readonly #onBreach: (reason: string) => void;
  #client: HostClient | null = null;

  /** Begins a life of the port. */
  constructor(
    socket: Duplex,
    { word, share = new TimeShare(), onBreach = () => {} }: GuestPortOptions,
  ) {
    this.#socket = socket;
    this.#share = share;
    this.#onBreach = onBreach;
    const transport = transportOf(socket, LIMITS.machineHeldBytes, () => {
      onBreach("the guest does not take what it is sent");
      socket.destroy();
    });
    const accept = (_connection: number, wire: Wire): Receiver => this.#newClient(wire);
    this.#link = new Link({
      transport,
      word,
      accept,
      isGuest: false,
      hostTextBytes: AGENT_TEXT_BYTES,
      onBreach: (_connection, reason) => {
        share.breach();
        onBreach(reason);
      },
      onUnwanted: (bytes) => share.unwanted(bytes),
    });
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
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

  /** The port's connection to the machine has ended. */
  get isGone(): boolean {
    return this.#socket.destroyed;
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

  #newClient(wire: Wire): HostClient {
    const hear: NotificationHandler = (method, params) => {
      if (this.#listeners.size === 0) this.#share.unwanted(0);
      for (const listener of this.#listeners) listener(method, params);
    };
    const onUnwanted = (bytes: number): void => this.#share.unwanted(bytes);
    const limits = { answerMs: AGENT_ANSWER_MS, onUnwanted };
    this.#client = new RpcClient(wire, HOST_METHODS, hear, limits);
    return this.#client;
  }

  #receive(chunk: Buffer): void {
    const beganMs = cpuMs();
    try {
      this.#link.receive(chunk);
    } catch (error) {
      this.#onBreach(`the port failed: ${messageOf(error)}`);
      this.#socket.destroy();
    }
    const waitMs = this.#share.spend(cpuMs() - beganMs);
    if (waitMs <= 0 || this.#socket.isPaused()) return;
    this.#socket.pause();
    setTimeout(() => this.#socket.resume(), waitMs);
  }
}

/** Time that this thread has worked: on a busy computer it stands still for others at times. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
