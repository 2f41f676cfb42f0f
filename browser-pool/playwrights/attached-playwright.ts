import type { Socket } from "node:net";
import { LIMITS } from "@svc/contract/limits.ts";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import { CallReader, type ClientCall, type NoCall } from "../cdp/call.ts";
import type { Envelope, JsonObject } from "../cdp/envelope.ts";
import { forbiddenBy, forbiddenReply } from "../cdp/forbidden.ts";
import type { Sender } from "../cdp/inflow.ts";
import { tooLongText } from "../cdp/message-ends.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { Pieces } from "../cdp/pieces.ts";
import { CdpPipe } from "../cdp/pipe.ts";
import type { Missed, MuxClient } from "../cdp/sessions.ts";
import { HumanMouse } from "../stealth/mouse.ts";
import { PlaywrightGone } from "./ending.ts";
import { HandedSockets } from "./handed-sockets.ts";
import { type Answer, type Question, controlText, isControl, readAnswer } from "./messages.ts";
import { UnknownPlaywright } from "./served-versions.ts";

/** More messages about sockets in a second than a sound Playwright has: it tells of each socket once a second. */
const MOST_CONTROLS = 1_000;
const SECOND_MS = 1_000;

/** Calls that run a script. */
const SCRIPTS: ReadonlySet<string> = new Set(["Runtime.evaluate", "Runtime.callFunctionOn"]);

interface Waiting {
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}

/** The slot around an attached Playwright. */
export interface Surroundings {
  /** Whether this Playwright has no client while others drive the browser. */
  isUnwatched: () => boolean;
  /** Whether the mouse of its clients is to move as a hand moves it. */
  hasHand: boolean;
  /** The browser has sent a message that is too long for the Playwright, and that was thrown away. */
  onTooLong: (reason: string) => void;
  /** A customer's socket was handed over and never taken. */
  onUntaken: () => void;
  /** The Playwright has sent what no Playwright sends. Its connection ends. */
  onNonsense: (nonsense: string) => void;
  /** Why the connection has ended, once that is known: a sentence for clients; null when their end is told them otherwise. */
  whyEnded: () => Promise<string | null>;
}

/** Longest message of a Playwright to the pool itself. */
const CONTROL_BYTES = 1024 * 1024;

/** A client's longest message becomes a call that is little longer. */
const ENDLESS_BYTES = 2 * LIMITS.wireMessageBytes;

/** A Playwright, in its own process, that drives one browser: a client of the browser's multiplexer. */
export class AttachedPlaywright implements MuxClient, Sender {
  /** Resolves when the connection has ended, with its process or its browser. */
  readonly ended: Promise<void>;
  readonly #mux: CdpMux;
  readonly #browser: CdpPipe;
  readonly #socket: Socket;
  readonly #line: CdpPipe;
  readonly #slot: Surroundings;
  readonly #mouse: HumanMouse | null;
  /** Of a message that is not complete: a control message or a call. */
  #control: Pieces | null = null;
  #call = new CallReader();
  #messageBytes = 0;
  /** The customers' sockets that were handed over to it. */
  readonly sockets: HandedSockets;
  readonly #waiting: Waiting[] = [];
  #isHolding = false;
  #isOver = false;
  #controls = 0;
  #countedFrom = 0;

  constructor(socket: Socket, mux: CdpMux, browser: CdpPipe, slot: Surroundings) {
    this.#slot = slot;
    this.#mux = mux;
    this.#browser = browser;
    this.#socket = socket;
    const move = (sessionId: string, params: JsonObject): Promise<unknown> =>
      mux.call("Input.dispatchMouseEvent", params, sessionId);
    this.#mouse = slot.hasHand ? new HumanMouse({ pass: (call) => this.#pass(call), move }) : null;
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
  missed(call: Missed | null, sessionId: string | null): void {
    const message = tooLongText(call ? "The browser's answer" : "An event");
    this.#slot.onTooLong(message);
    if (call) this.answer({ ...failureOf(call, message), ...(sessionId && { sessionId }) });
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

  /** Lets go of the browser now: nothing that the Playwright says reaches the browser any more. */
  leave(): void {
    if (this.#isOver) return;
    this.#close();
    this.gone();
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
      if (this.#isOver || this.#socket.destroyed) reject(new PlaywrightGone());
      else this.#waiting.push({ resolve, reject });
      if (!this.#isOver) this.#line.write(controlText(question));
    });
  }

  #piece(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#messageBytes += bytes.length;
    // A call that is too long is answered by an error at its end, if it has one.
    if (this.#messageBytes > ENDLESS_BYTES) return this.#refuse("a message without an end");
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
    this.#messageBytes = 0;
    if (this.#isOver) return;
    if (control) {
      const nonsense = this.#settle(control.join());
      if (nonsense) this.#refuse(nonsense);
    } else this.#take(reader.end());
    this.#mux.inflow.check();
  }

  #take(call: ClientCall | NoCall): void {
    if (!("error" in call)) this.#send(call);
    else if (call.id !== undefined) this.answer({ ...call });
    else this.#refuse(String(call.error.message));
  }

  // The Playwright is trusted with this browser and nothing else: forbidden calls are refused here.
  #send(call: ClientCall): void {
    // Playwright dismisses a dialog that none of its clients wants; the clients of others may want it.
    const isMeddling = call.method === "Page.handleJavaScriptDialog" && this.#slot.isUnwatched();
    const forbidden = isMeddling ? "leave" : forbiddenBy(call);
    if (forbidden) {
      this.answer(forbiddenReply(call, forbidden));
      return;
    }
    if (this.#mouse) this.#mouse.send(call);
    else this.#pass(call);
  }

  #pass(call: ClientCall): void {
    if (this.#mux.send(this, call)) return;
    this.hold();
    this.#browser.whenWritable(() => this.release());
  }

  /** Takes a control message. Returns what is wrong with it. */
  #settle(bytes: Buffer): string | null {
    const now = performance.now();
    if (now - this.#countedFrom > SECOND_MS) [this.#countedFrom, this.#controls] = [now, 0];
    this.#controls += 1;
    if (this.#controls > MOST_CONTROLS) return "a flood of messages";
    const answer = readAnswer(bytes);
    if (!answer) return "a message that is none";
    if ("client" in answer)
      return this.sockets.heard(answer.client, answer.event) ? null : "an event of no socket";
    const waiting = this.#waiting.shift();
    if (!waiting) return "an answer to no question";
    if (!("failed" in answer)) waiting.resolve(answer);
    else if (answer.isUnknown) waiting.reject(new UnknownPlaywright());
    else waiting.reject(new Error(answer.failed));
    return null;
  }

  #refuse(nonsense: string): void {
    this.#slot.onNonsense(nonsense);
    this.sockets.close("Playwright sent what no Playwright sends, and was let go.");
    this.#close();
    this.#socket.destroy();
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#mouse?.close();
    this.#mux.inflow.remove(this);
    this.#mux.detach(this);
    this.#release();
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new PlaywrightGone());
    // The socket of the process closes a moment before its end is known.
    if (this.sockets.size > 0)
      void this.#slot.whyEnded().then((reason) => this.sockets.close(reason));
  }
}

// Playwright takes an error of a call that runs a script for a navigation, and an exception of the script for what it is.
function failureOf({ id, method }: Missed, message: string): JsonObject {
  if (!SCRIPTS.has(method)) return { id, error: { code: -32000, message } };
  const exception = { type: "object", subtype: "error", description: `Error: ${message}` };
  const exceptionDetails = {
    exceptionId: 0,
    text: message,
    lineNumber: 0,
    columnNumber: 0,
    exception,
  };
  return { id, result: { result: { type: "undefined" }, exceptionDetails } };
}
