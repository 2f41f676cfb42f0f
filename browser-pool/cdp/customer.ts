import type { Socket } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { BACKLOG_BYTES, Backlog, STALL_MS } from "@svc/host-kit/backlog.ts";
import { shortReason } from "@svc/host-kit/frames.ts";
import type { SocketEnd } from "../customer-sockets.ts";
import type { RawData, WebSocket } from "ws";
import { type ClientCall, readCall } from "./call.ts";
import type { Envelope, JsonObject } from "./envelope.ts";
import { forbiddenBy, forbiddenReply } from "./forbidden.ts";
import type { CdpMux } from "./mux.ts";
import type { CdpPipe } from "./pipe.ts";
import type { MuxClient } from "./sessions.ts";
import { IS_CDP, replyToPlaywright } from "./wrong-endpoint.ts";

const GOODBYE_MS = 2_000;

export interface CustomerOptions {
  mux: CdpMux;
  pipe: CdpPipe;
  onTraffic: () => void;
  onEnd: (end: SocketEnd) => void;
}

interface Line {
  webSocket: WebSocket;
  backlog: Backlog;
}

/** A raw CDP socket of a customer: a client of the multiplexer. The client is attached before its upgrade is answered. */
export class CdpCustomer implements MuxClient {
  readonly #options: CustomerOptions;
  #line: Line | null = null;
  #goodbye: { code: number; reason: string } | null = null;
  #hasLeft = false;
  #hasSpoken = false;

  constructor(options: CustomerOptions) {
    this.#options = options;
  }

  /** Gets the client its browser-level session. */
  attach(): Promise<void> {
    return this.#options.mux.attach(this);
  }

  /** Gives the browser-level session back: the socket never opened. */
  giveUp(): void {
    this.#options.mux.detach(this);
  }

  /** Takes the open socket. */
  open(webSocket: WebSocket, socket: Socket): void {
    this.#line = { webSocket, backlog: this.#backlogOf(webSocket, socket) };
    webSocket.on("message", (data) => this.#receive(webSocket, data));
    webSocket.on("error", () => webSocket.terminate());
    webSocket.on("close", (code) => this.#closed(code));
    if (this.#goodbye) this.end(this.#goodbye.code, this.#goodbye.reason);
  }

  #backlogOf(webSocket: WebSocket, socket: Socket): Backlog {
    const { pipe } = this.#options;
    const backlog = new Backlog({
      waitingBytes: () => webSocket.bufferedAmount,
      sentBytes: () => socket.bytesWritten - socket.writableLength,
      highBytes: BACKLOG_BYTES,
      stallMs: STALL_MS,
      onHigh: () => pipe.hold(),
      onLow: () => pipe.release(),
      onStalled: () => webSocket.terminate(),
    });
    socket.on("drain", () => backlog.check());
    return backlog;
  }

  /** Closes the socket with a reason, now or as soon as it is open; cuts it when the customer does not answer. */
  end(code: number, reason: string): void {
    if (!this.#line) {
      this.#goodbye ??= { code, reason };
      return;
    }
    const { webSocket } = this.#line;
    webSocket.resume();
    webSocket.close(code, shortReason(reason));
    setTimeout(() => webSocket.terminate(), GOODBYE_MS).unref();
  }

  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void {
    this.#write(envelope.textFor(id, keepsSession));
  }

  answer(message: JsonObject): void {
    this.#write(Buffer.from(JSON.stringify(message)));
  }

  gone(): void {
    // Later, so that the session, which knows why, speaks first.
    setImmediate(() => this.end(CLOSE_CODES.gone, "The browser is gone."));
  }

  #write(text: Buffer): void {
    if (!this.#line) return;
    const { webSocket, backlog } = this.#line;
    if (webSocket.readyState !== webSocket.OPEN) return;
    webSocket.send(text, { binary: false });
    backlog.check();
  }

  #receive(webSocket: WebSocket, data: RawData): void {
    this.#options.onTraffic();
    const stray = this.#hasSpoken ? null : replyToPlaywright(data);
    this.#hasSpoken = true;
    if (stray) {
      this.answer(stray);
      this.end(CLOSE_CODES.wrongEndpoint, IS_CDP);
      return;
    }
    const call = readCall(textOf(data));
    if ("error" in call) this.answer(call);
    else this.#send(webSocket, call);
  }

  #send(webSocket: WebSocket, call: ClientCall): void {
    const forbidden = forbiddenBy(call);
    if (forbidden) {
      this.answer(forbiddenReply(call, forbidden));
      if (forbidden === "leave") this.#leave();
      return;
    }
    const { mux, pipe } = this.#options;
    if (mux.send(this, call)) return;
    webSocket.pause();
    pipe.whenWritable(() => webSocket.resume());
  }

  #leave(): void {
    this.#hasLeft = true;
    this.end(CLOSE_CODES.normal, "The client closed the browser.");
  }

  // ws reports 1006 when the socket ended without a close frame.
  #closed(code: number): void {
    this.#line?.backlog.close();
    this.#options.mux.detach(this);
    this.#options.onEnd(this.#hasLeft || code !== 1006 ? "clean" : "dropped");
  }
}

// One buffer, unless ws is told to hand out something else.
function textOf(data: RawData): string {
  return Buffer.isBuffer(data) ? data.toString() : "";
}
