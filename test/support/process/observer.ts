import { once } from "node:events";
import { decodeFrame } from "@svc/contract/browser/observer-frame.ts";
import type { FrameHead, ObservedPage, TextMessage } from "@svc/contract/browser/observer.ts";
import { vi } from "vitest";
import { WebSocket } from "ws";

const PATIENCE = { timeout: 60_000, interval: 50 };

/** A frame as a viewer has got it. */
export interface Seen {
  head: FrameHead;
  jpeg: Uint8Array;
}

/** A viewer of a session, as a customer would write one. */
export class Observer {
  readonly frames: Seen[] = [];
  readonly texts: TextMessage[] = [];
  closed: { code: number; reason: string } | null = null;
  readonly #socket: WebSocket;
  readonly #acks: boolean;

  private constructor(socket: WebSocket, acks: boolean) {
    this.#socket = socket;
    this.#acks = acks;
    socket.on("message", (data: Buffer, isBinary) =>
      isBinary ? this.#see(data) : this.#hear(data),
    );
    socket.on("close", (code, reason) => (this.closed = { code, reason: String(reason) }));
    socket.on("error", () => {});
  }

  /** Watches; `acks: false`: takes what comes, and never says so. */
  static async open(
    url: string,
    { key, acks = true }: { key?: string; acks?: boolean } = {},
  ): Promise<Observer> {
    const socket = new WebSocket(url, key ? { headers: { authorization: `Bearer ${key}` } } : {});
    const observer = new Observer(socket, acks);
    const refused = new Promise<never>((_resolve, reject) => {
      socket.once("unexpected-response", (_request, response) => {
        response.setEncoding("utf8").on("data", (text: string) => {
          reject(new Error(`${response.statusCode} ${text}`));
        });
      });
    });
    await Promise.race([once(socket, "open"), refused]);
    return observer;
  }

  send(message: object | string | Buffer): void {
    const isRaw = typeof message === "string" || Buffer.isBuffer(message);
    this.#socket.send(isRaw ? message : JSON.stringify(message));
  }

  close(): void {
    this.#socket.close();
  }

  get pages(): ObservedPage[] {
    return this.texts.findLast((text) => text.type === "pages")?.pages ?? [];
  }

  get last(): Seen | undefined {
    return this.frames.at(-1);
  }

  /** Resolves once this is so. */
  until(isSo: (observer: Observer) => boolean): Promise<void> {
    return vi.waitFor(() => {
      if (isSo(this)) return;
      const heads = this.frames.slice(-2).map(({ head }) => head);
      throw new Error(JSON.stringify({ texts: this.texts.slice(-3), heads, closed: this.closed }));
    }, PATIENCE);
  }

  #see(data: Buffer): void {
    const frame = decodeFrame(data);
    if (!frame) throw new Error("a binary message that is no frame");
    this.frames.push(frame);
    this.#ack(frame.head.seq);
  }

  #hear(data: Buffer): void {
    const text: TextMessage = JSON.parse(String(data));
    this.texts.push(text);
    if (text.type === "pages") this.#ack(text.seq);
  }

  #ack(seq: number): void {
    if (this.#acks) this.send({ type: "ack", seq });
  }
}
