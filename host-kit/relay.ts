import type { Socket } from "node:net";
import { BACKLOG_BYTES, Backlog } from "./backlog.ts";
import { FrameScanner, closeFrame } from "./frames.ts";

const KEEP_ALIVE_MS = 30_000;
const GOODBYE_MS = 2_000;

/** How a customer's socket went: with a close frame, or cut. */
export type SocketEnd = "clean" | "dropped";

export interface RelayOptions {
  /** The customer's side, past its upgrade. */
  client: Socket;
  /** The side inside the host, past its upgrade. */
  upstream: Socket;
  /** The source of what upstream sends, stopped while the client is too slow. */
  source: { hold(): void; release(): void };
  /** How long a client may take nothing while much waits for it. */
  stallMs: number;
  onTraffic: () => void;
  onEnd: (end: SocketEnd) => void;
}

/**
 * Joins two upgraded WebSockets byte by byte. The upstream is a process of this host, so pausing it would
 * only move its bytes to another buffer: what waits for a slow client is counted and its source is stopped.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #fromClient = new FrameScanner();
  readonly #fromUpstream = new FrameScanner();
  readonly #backlog: Backlog;
  #goodbye: Buffer | null = null;
  #isOver = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    const { client, upstream, source, stallMs } = options;
    this.#backlog = new Backlog({
      waitingBytes: () => client.writableLength,
      sentBytes: () => client.bytesWritten - client.writableLength,
      highBytes: BACKLOG_BYTES,
      stallMs,
      onHigh: () => source.hold(),
      onLow: () => source.release(),
      onStalled: () => client.destroy(),
    });
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.setTimeout(0);
      socket.on("error", () => socket.destroy());
    }
    client.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#listen();
  }

  /** Passes on bytes that came with the two upgrades. */
  start(clientHead: Buffer, upstreamHead: Buffer): void {
    if (clientHead.length > 0) this.#toUpstream(clientHead);
    if (upstreamHead.length > 0) this.#toClient(upstreamHead);
  }

  /** Says goodbye to the client with a close frame of our own, at the next place where one fits. */
  end(code: number, reason: string): void {
    if (this.#isOver || this.#goodbye) return;
    this.#goodbye = closeFrame(code, reason);
    setTimeout(() => this.#destroy(), GOODBYE_MS).unref();
    if (this.#fromUpstream.isAtBoundary) this.#sayGoodbye();
  }

  #listen(): void {
    const { client, upstream } = this.#options;
    client.on("data", (chunk: Buffer) => this.#toUpstream(chunk));
    upstream.on("data", (chunk: Buffer) => this.#toClient(chunk));
    upstream.on("drain", () => client.resume());
    client.on("drain", () => this.#backlog.check());
    client.on("end", () => upstream.end());
    upstream.on("end", () => this.#goodbye ?? client.end());
    client.on("close", () => this.#over());
    upstream.on("close", () => {
      client.end();
      setTimeout(() => client.destroy(), GOODBYE_MS).unref();
    });
  }

  #toUpstream(chunk: Buffer): void {
    this.#fromClient.push(chunk);
    this.#options.onTraffic();
    if (this.#options.upstream.destroyed) return;
    if (!this.#options.upstream.write(chunk)) this.#options.client.pause();
  }

  #toClient(chunk: Buffer): void {
    if (this.#goodbye && this.#fromUpstream.isAtBoundary) return;
    const boundary = this.#fromUpstream.push(chunk);
    const isLast = this.#goodbye !== null && boundary >= 0;
    this.#options.client.write(isLast ? chunk.subarray(0, boundary) : chunk);
    if (isLast) this.#sayGoodbye();
    else this.#backlog.check();
  }

  #sayGoodbye(): void {
    const { client, upstream } = this.#options;
    if (this.#goodbye && client.writable) client.end(this.#goodbye);
    upstream.destroy();
  }

  #destroy(): void {
    this.#options.client.destroy();
    this.#options.upstream.destroy();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#backlog.close();
    this.#options.upstream.destroy();
    this.#options.onEnd(this.#fromClient.sawClose ? "clean" : "dropped");
  }
}
