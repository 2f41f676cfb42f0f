import type { ConnectOverCDPTransport } from "playwright-core";
import { type Envelope, type JsonObject, isObject } from "../cdp/envelope.ts";
import { forbiddenBy, forbiddenReply } from "../cdp/forbidden.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { MuxClient } from "../cdp/sessions.ts";

/**
 * Playwright as a client of the multiplexer. It gets one message a macrotask: given several in one go it
 * misses events, such as popups of a burst.
 */
export class WireTransport implements ConnectOverCDPTransport, MuxClient {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  readonly #mux: CdpMux;

  constructor(mux: CdpMux) {
    this.#mux = mux;
  }

  send(message: object): void {
    const call = { ...message };
    if (!isCall(call)) throw new TypeError("Playwright sent no CDP call");
    const forbidden = forbiddenBy(call);
    if (forbidden) this.answer(forbiddenReply(call, forbidden));
    else this.#mux.send(this, call);
  }

  close(): void {
    this.#mux.detach(this);
    this.onclose?.();
  }

  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void {
    setImmediate(() => this.onmessage?.(envelope.objectFor(id, keepsSession)));
  }

  answer(message: JsonObject): void {
    setImmediate(() => this.onmessage?.(message));
  }

  gone(): void {
    setImmediate(() => this.onclose?.("The browser is gone."));
  }
}

function isCall(call: object): call is { id: number; method: string; sessionId?: string } {
  return isObject(call) && typeof call.id === "number" && typeof call.method === "string";
}
