import type { Socket } from "node:net";
import { readCall } from "../cdp/call.ts";
import type { Envelope, JsonObject } from "../cdp/envelope.ts";
import { forbiddenBy, forbiddenReply } from "../cdp/forbidden.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { CdpPipe } from "../cdp/pipe.ts";
import type { MuxClient } from "../cdp/sessions.ts";
import type { StoredState } from "../profile.ts";
import { WireClients } from "./clients.ts";
import { Answer, type Question, controlText, isControl, readControl } from "./control.ts";
import { UnknownPlaywright } from "./served.ts";

/** The connection has ended under a question. */
export class PlaywrightGone extends Error {
  constructor() {
    super("Playwright is gone");
  }
}

interface Waiting {
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}

/** One browser as a Playwright in its own process drives it: a client of the browser's multiplexer. */
export class WireHost implements MuxClient {
  /** Resolves when the connection has ended, with its process or its browser. */
  readonly ended: Promise<void>;
  readonly #mux: CdpMux;
  readonly #browser: CdpPipe;
  readonly #socket: Socket;
  readonly #line: CdpPipe;
  readonly #isUnwatched: () => boolean;
  /** The sockets of customers that it has. */
  readonly clients: WireClients;
  readonly #waiting: Waiting[] = [];
  #isHolding = false;

  /** `isUnwatched`: whether it has no client, while others drive the browser. */
  constructor(socket: Socket, mux: CdpMux, browser: CdpPipe, isUnwatched: () => boolean) {
    this.#isUnwatched = isUnwatched;
    this.#mux = mux;
    this.#browser = browser;
    this.#socket = socket;
    this.#line = new CdpPipe(socket, socket);
    this.clients = new WireClients(browser, (message) => this.#line.write(controlText(message)));
    this.ended = new Promise((resolve) => {
      this.#line.open(
        (bytes) => this.#receive(bytes),
        () => {
          this.#close();
          resolve();
        },
      );
    });
  }

  /** Lets it attach to the browser of the slot with this key, and returns the path of its endpoint. */
  async attach(key: string): Promise<string> {
    try {
      await this.#mux.attach(this);
      const answer = await this.#ask({ attach: key });
      if ("attached" in answer) return answer.attached;
      throw new Error("no answer to the question");
    } catch (error) {
      this.gone();
      throw error;
    }
  }

  /** Gives the default context a stored state, in place of what it has. Its sites are not asked for anything. */
  async seed(state: StoredState): Promise<void> {
    await this.#ask({ seed: state });
  }

  /** Rejects when it is dying. */
  async ping(): Promise<void> {
    await this.#ask({ ping: true });
  }

  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void {
    this.#write(envelope.textFor(id, keepsSession));
  }

  answer(message: JsonObject): void {
    this.#write(JSON.stringify(message));
  }

  gone(): void {
    // Later, so that the session, which knows why, speaks first to its customers.
    setImmediate(() => this.#socket.end());
  }

  #write(message: string | Buffer): void {
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

  // It is trusted with this browser, not more: what it may not do is seen to here.
  #receive(bytes: Buffer): void {
    if (isControl(bytes)) {
      this.#settle(bytes);
      return;
    }
    const call = readCall(bytes.toString());
    if ("error" in call) return;
    // Playwright dismisses a dialog that no client of its own wants; those of others may want it.
    const isMeddling = call.method === "Page.handleJavaScriptDialog" && this.#isUnwatched();
    const forbidden = isMeddling ? "leave" : forbiddenBy(call);
    if (forbidden) {
      this.answer(forbiddenReply(call, forbidden));
      return;
    }
    if (this.#mux.send(this, call)) return;
    this.#line.hold();
    this.#browser.whenWritable(() => this.#line.release());
  }

  #settle(bytes: Buffer): void {
    const answer = Answer.parse(readControl(bytes));
    if ("client" in answer) {
      this.clients.heard(answer.client, answer.event);
      return;
    }
    const waiting = this.#waiting.shift();
    if (!("failed" in answer)) waiting?.resolve(answer);
    else if (answer.isUnknown) waiting?.reject(new UnknownPlaywright());
    else waiting?.reject(new Error(answer.failed));
  }

  #close(): void {
    this.#mux.detach(this);
    this.#release();
    this.clients.close();
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new PlaywrightGone());
  }
}
