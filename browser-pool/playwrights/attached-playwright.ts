import type { Socket } from "node:net";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import { CallReader, type ClientCall, type NoCall } from "../cdp/call.ts";
import type { Envelope, JsonObject } from "../cdp/envelope.ts";
import { forbiddenBy, forbiddenReply } from "../cdp/forbidden.ts";
import type { Sender } from "../cdp/inflow.ts";
import { tooLongText } from "../cdp/message-ends.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { Pieces } from "../cdp/pieces.ts";
import { CdpPipe } from "../cdp/pipe.ts";
import type { MuxClient } from "../cdp/sessions.ts";
import { HandedSockets } from "./handed-sockets.ts";
import { Answer, type Question, controlText, isControl, readControl } from "./messages.ts";
import { UnknownPlaywright } from "./served-versions.ts";

/** The connection ended before a question was answered. */
export class PlaywrightGone extends Error {
  constructor() {
    super("Playwright is gone");
  }
}

interface Waiting {
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}

/** The slot around an attached Playwright. */
export interface Surroundings {
  /** Whether this Playwright has no client while others drive the browser. */
  isUnwatched: () => boolean;
  /** The Playwright has sent what is no message; or the browser something that is too long for the Playwright. */
  onFault: (reason: string) => void;
  /** A customer's socket was handed over and never taken. */
  onUntaken: () => void;
}

/** Longest message of a Playwright to the pool itself. */
const CONTROL_BYTES = 1024 * 1024;

/** A Playwright, in its own process, that drives one browser: a client of the browser's multiplexer. */
export class AttachedPlaywright implements MuxClient, Sender {
  /** Resolves when the connection has ended, with its process or its browser. */
  readonly ended: Promise<void>;
  readonly #mux: CdpMux;
  readonly #browser: CdpPipe;
  readonly #socket: Socket;
  readonly #line: CdpPipe;
  readonly #isUnwatched: () => boolean;
  readonly #onFault: (reason: string) => void;
  /** Of a message that is not complete: a control message or a call. */
  #control: Pieces | null = null;
  #call = new CallReader();
  /** The customers' sockets that were handed over to it. */
  readonly sockets: HandedSockets;
  readonly #waiting: Waiting[] = [];
  #isHolding = false;

  constructor(socket: Socket, mux: CdpMux, browser: CdpPipe, slot: Surroundings) {
    this.#isUnwatched = slot.isUnwatched;
    this.#onFault = slot.onFault;
    this.#mux = mux;
    this.#browser = browser;
    this.#socket = socket;
    this.#line = new CdpPipe(socket, socket, browser.turns);
    const ask = (message: Question): void => void this.#line.write(controlText(message));
    this.sockets = new HandedSockets(browser, ask, slot.onUntaken);
    mux.inflow.add(this);
    const sink = { piece: (bytes: Buffer) => this.#piece(bytes), end: () => this.#receive() };
    this.ended = new Promise((resolve) => {
      this.#line.read(sink, () => {
        this.#close();
        resolve();
      });
    });
  }

  /** Attaches the Playwright to the browser of the slot with this key. Returns the path of its endpoint. `origins`: see `noteOrigins`. */
  async attach(key: string, origins: string[]): Promise<string> {
    try {
      await this.#mux.attach(this);
      const answer = await this.#ask({ attach: key });
      if (!("attached" in answer)) throw new Error("no answer to the question");
      if (origins.length > 0) await this.noteOrigins(origins);
      return answer.attached;
    } catch (error) {
      this.gone();
      throw error;
    }
  }

  /** Gives the default context a storage state in place of its own. No site is asked for anything. */
  async seed(state: StorageState): Promise<void> {
    await this.#ask({ seed: state });
  }

  /** Tells the Playwright that origins have storage, of whose pages it has seen none. */
  async noteOrigins(origins: string[]): Promise<void> {
    await this.#ask({ note: origins });
  }

  /** Rejects when the Playwright is dying. */
  async ping(): Promise<void> {
    await this.#ask({ ping: true });
  }

  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void {
    this.#write(envelope.bytesFor(id, keepsSession));
  }

  // Playwright hears that a call has failed, and its other clients go on. An event that long is one that a page made up.
  missed(id: number | null, sessionId: string | null): void {
    const message = tooLongText(id === null ? "An event" : "The browser's answer");
    this.#onFault(message);
    if (id === null) return;
    this.answer({ id, error: { code: -32000, message }, ...(sessionId && { sessionId }) });
  }

  get gatheredBytes(): number {
    return this.#call.size + (this.#control?.size ?? 0);
  }

  hold(): void {
    this.#line.hold();
  }

  release(): void {
    this.#line.release();
  }

  cut(): void {
    this.#socket.destroy();
  }

  answer(message: JsonObject): void {
    this.#write(JSON.stringify(message));
  }

  gone(): void {
    // Later, so that the session, which knows why, speaks first to its customers.
    setImmediate(() => this.#socket.end());
  }

  #write(message: string | Buffer[]): void {
    if (this.#line.write(message) || this.#isHolding) return;
    this.#isHolding = true;
    this.#browser.hold();
    this.#line.whenWritable(() => this.#release());
  }

  #release(): void {
    if (!this.#isHolding) return;
    this.#isHolding = false;
    this.#browser.release();
  }

  #ask(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#socket.destroyed) this.#close();
      else this.#line.write(controlText(question));
    });
  }

  #piece(bytes: Buffer): void {
    if (!this.#control && this.#call.size === 0 && isControl(bytes)) this.#control = new Pieces();
    if (!this.#control) this.#call.push(bytes);
    else if (this.#control.size + bytes.length <= CONTROL_BYTES) this.#control.push(bytes);
    else this.#refuse("a control message that is too long");
    this.#mux.inflow.check();
  }

  #receive(): void {
    const control = this.#control;
    const reader = this.#call;
    this.#control = null;
    this.#call = new CallReader();
    if (control) this.#settle(control.join());
    else if (!this.#socket.destroyed) this.#take(reader.end());
    this.#mux.inflow.check();
  }

  #take(call: ClientCall | NoCall): void {
    if (!("error" in call)) this.#send(call);
    else if (call.id !== undefined) this.answer({ ...call });
    else this.#refuse(String(call.error.message));
  }

  /** Ends the connection of a Playwright that sends garbage. */
  #refuse(reason: string): void {
    this.#onFault(reason);
    this.#socket.destroy();
  }

  // The Playwright is trusted with this browser and nothing else: forbidden calls are refused here.
  #send(call: ClientCall): void {
    // Playwright dismisses a dialog that none of its clients wants; the clients of others may want it.
    const isMeddling = call.method === "Page.handleJavaScriptDialog" && this.#isUnwatched();
    const forbidden = isMeddling ? "leave" : forbiddenBy(call);
    if (forbidden) {
      this.answer(forbiddenReply(call, forbidden));
      return;
    }
    if (this.#mux.send(this, call)) return;
    this.hold();
    this.#browser.whenWritable(() => this.release());
  }

  #settle(bytes: Buffer): void {
    const answer = Answer.parse(readControl(bytes));
    if ("client" in answer) {
      this.sockets.heard(answer.client, answer.event);
      return;
    }
    const waiting = this.#waiting.shift();
    if (!("failed" in answer)) waiting?.resolve(answer);
    else if (answer.isUnknown) waiting?.reject(new UnknownPlaywright());
    else waiting?.reject(new Error(answer.failed));
  }

  #close(): void {
    this.#mux.inflow.remove(this);
    this.#mux.detach(this);
    this.#release();
    this.sockets.close();
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new PlaywrightGone());
  }
}
