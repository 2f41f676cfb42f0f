import type { Envelope, JsonObject } from "./envelope.ts";
import { isObject } from "./envelope.ts";
import { tooLongText } from "./message-ends.ts";
import type { CdpMux } from "./mux.ts";
import type { Missed, MuxClient } from "./sessions.ts";

/** An event of one of the client's sessions; of its browser-level session when `sessionId` is null. */
export interface CdpEvent {
  method: string;
  params: JsonObject;
  sessionId: string | null;
}

/** The pool itself as a client of a browser's multiplexer. */
export class OwnClient implements MuxClient {
  readonly isOfPool = true;
  readonly #mux: CdpMux;
  readonly #onEvent: (event: CdpEvent) => void;
  readonly #calls = new Map<number, PromiseWithResolvers<JsonObject>>();
  #nextId = 1;

  constructor(mux: CdpMux, onEvent: (event: CdpEvent) => void) {
    this.#mux = mux;
    this.#onEvent = onEvent;
  }

  async open(): Promise<void> {
    await this.#mux.attach(this);
  }

  /** Makes a call in one of the client's sessions; in its browser-level session without `sessionId`. */
  call(method: string, params: JsonObject = {}, sessionId?: string): Promise<JsonObject> {
    const id = this.#nextId++;
    const call = Promise.withResolvers<JsonObject>();
    this.#calls.set(id, call);
    this.#mux.send(this, { id, method, params, ...(sessionId !== undefined && { sessionId }) });
    return call.promise;
  }

  /** Ends the client's sessions, and what they have switched on. */
  close(): void {
    this.#mux.detach(this);
    this.gone();
  }

  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void {
    const message = envelope.objectFor(id, keepsSession);
    if (id !== null) {
      this.answer(message);
      return;
    }
    const { method, params, sessionId } = message;
    if (typeof method !== "string" || !isObject(params)) return;
    this.#onEvent({ method, params, sessionId: typeof sessionId === "string" ? sessionId : null });
  }

  missed(call: Missed | null): void {
    const message = tooLongText("The browser's answer");
    if (call) this.answer({ id: call.id, error: { message } });
  }

  answer(message: JsonObject): void {
    const { id, result, error } = message;
    const call = typeof id === "number" ? this.#calls.get(id) : undefined;
    if (!call || typeof id !== "number") return;
    this.#calls.delete(id);
    if (isObject(error)) call.reject(new Error(String(error.message)));
    else call.resolve(isObject(result) ? result : {});
  }

  forgotten(clientId: number): void {
    this.answer({ id: clientId, error: { message: "the session has ended" } });
  }

  gone(): void {
    for (const call of this.#calls.values()) call.reject(new Error("the browser is gone"));
    this.#calls.clear();
  }
}
