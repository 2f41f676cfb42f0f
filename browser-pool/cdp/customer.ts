import type { Socket } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { SocketEnd } from "../customer-sockets.ts";
import { ServerSocket } from "../web-socket/server-socket.ts";
import { CallReader, type ClientCall, type NoCall } from "./call.ts";
import type { Envelope, JsonObject } from "./envelope.ts";
import { forbiddenBy, forbiddenReply } from "./forbidden.ts";
import type { Sender } from "./inflow.ts";
import { tooLongText } from "./message-ends.ts";
import type { CdpMux } from "./mux.ts";
import type { Reader } from "./outflow.ts";
import type { CdpPipe } from "./pipe.ts";
import type { MuxClient } from "./sessions.ts";
import { IS_CDP, replyToPlaywright } from "./wrong-endpoint.ts";

/** With more of the pool's own answers waiting for a client, the client is not read. */
const ANSWERS_BYTES = 1024 * 1024;

export interface CustomerOptions {
  mux: CdpMux;
  pipe: CdpPipe;
  onTraffic: () => void;
  /** The socket was closed with 4413 or for breaking the protocol. */
  onFault: (code: number, reason: string) => void;
  onEnd: (end: SocketEnd) => void;
}

/** A raw CDP socket of a customer: a client of the multiplexer. The client is attached before its upgrade is answered. */
export class CdpCustomer implements MuxClient, Sender, Reader {
  readonly #options: CustomerOptions;
  #webSocket: ServerSocket | null = null;
  #goodbye: { code: number; reason: string } | null = null;
  #call = new CallReader();
  #hasLeft = false;
  #isAnswering = false;
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

  /** Takes the open socket. `head`: bytes that came after its upgrade. */
  open(socket: Socket, head: Buffer): void {
    const { mux, pipe, onFault } = this.#options;
    this.#webSocket = new ServerSocket(socket, {
      turns: pipe.turns,
      piece: (bytes) => this.#piece(bytes),
      end: () => this.#receive(),
      onFault,
      onDrain: () => this.#drained(),
      onClose: (isClean) => this.#closed(isClean),
    });
    mux.inflow.add(this);
    mux.outflow.add(this);
    if (this.#goodbye) this.end(this.#goodbye.code, this.#goodbye.reason);
    this.#webSocket.start(head);
  }

  get gatheredBytes(): number {
    return this.#call.size;
  }

  get waitingBytes(): number {
    return this.#webSocket?.waitingBytes ?? 0;
  }

  get sentBytes(): number {
    return this.#webSocket?.sentBytes ?? 0;
  }

  hold(): void {
    this.#webSocket?.hold();
  }

  release(): void {
    this.#webSocket?.release();
  }

  cut(): void {
    this.#webSocket?.cut();
  }

  /** Closes the socket with a reason, now or as soon as it is open; cuts it when the customer does not answer. */
  end(code: number, reason: string): void {
    if (this.#webSocket) this.#webSocket.close(code, reason);
    else this.#goodbye ??= { code, reason };
  }

  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void {
    this.#write(envelope.bytesFor(id, keepsSession));
  }

  missed(): void {
    const reason = tooLongText("A message of the browser");
    this.#options.onFault(CLOSE_CODES.messageTooLarge, reason);
    this.end(CLOSE_CODES.messageTooLarge, reason);
  }

  answer(message: JsonObject): void {
    this.#write([Buffer.from(JSON.stringify(message))]);
    if (this.#isAnswering || this.waitingBytes < ANSWERS_BYTES) return;
    this.#isAnswering = true;
    this.hold();
  }

  gone(): void {
    // Later, so that the session, which knows why, speaks first.
    setImmediate(() => this.end(CLOSE_CODES.gone, "The browser is gone."));
  }

  #write(pieces: Buffer[]): void {
    this.#webSocket?.send(pieces);
    this.#options.mux.outflow.check();
  }

  #drained(): void {
    if (this.#isAnswering) this.release();
    this.#isAnswering = false;
    this.#options.mux.outflow.check();
  }

  #piece(bytes: Buffer): void {
    this.#call.push(bytes);
    this.#options.mux.inflow.check();
  }

  #receive(): void {
    this.#options.onTraffic();
    const call = this.#call;
    this.#call = new CallReader();
    const stray = this.#hasSpoken ? null : replyToPlaywright(call.short);
    this.#hasSpoken = true;
    if (stray) {
      this.answer(stray);
      this.end(CLOSE_CODES.wrongEndpoint, IS_CDP);
    } else this.#take(call.end());
    this.#options.mux.inflow.check();
  }

  #take(call: ClientCall | NoCall): void {
    if ("error" in call) this.answer({ ...call });
    else this.#send(call);
  }

  #send(call: ClientCall): void {
    const forbidden = forbiddenBy(call);
    if (forbidden) {
      this.answer(forbiddenReply(call, forbidden));
      if (forbidden === "leave") this.#leave();
      return;
    }
    const { mux, pipe } = this.#options;
    if (mux.send(this, call)) return;
    this.hold();
    pipe.whenWritable(() => this.release());
  }

  #leave(): void {
    this.#hasLeft = true;
    this.end(CLOSE_CODES.normal, "The client closed the browser.");
  }

  #closed(isClean: boolean): void {
    const { mux, onEnd } = this.#options;
    mux.inflow.remove(this);
    mux.outflow.remove(this);
    mux.detach(this);
    onEnd(this.#hasLeft || isClean ? "clean" : "dropped");
  }
}
