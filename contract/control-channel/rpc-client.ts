import type * as z from "zod";
import { parseBinary } from "./binary-frame.ts";
import { Answer, Call, Credit, readJson } from "./messages.ts";
import { RpcError, refuse } from "./rpc-error.ts";
import { type BytesHandler, Stream } from "./stream.ts";
import type { Receiver, Wire } from "./wire.ts";

const LAST_ID = 0xffff_ffff;

/** Parameters and result of a method. */
export interface MethodShape {
  params: z.ZodType<object, object>;
  result: z.ZodType<object>;
}
/** Methods by name. */
export type Shapes = Record<string, MethodShape>;

/** A request under way. */
export interface PendingCall<Result> {
  id: number;
  /** Sends bytes to the method. */
  stream: Stream;
  /** Resolves when every byte that came before the result has been taken. Rejects with an `RpcError`. */
  result: Promise<Result>;
}

/** Options of a call: what takes its bytes, and what cancels it. */
export interface CallOptions {
  onBytes?: BytesHandler;
  signal?: AbortSignal;
}

interface Waiting {
  stream: Stream;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

/** Takes notifications of the other side: `rpc.hello`, `rpc.gap`, `files.event` and the like. */
export type NotificationHandler = (method: string, params: Record<string, unknown>) => void;

/** The asking side of a control connection. */
export class RpcClient<Known extends Shapes> implements Receiver {
  readonly #wire: Wire;
  readonly #shapes: Known;
  readonly #onNotification: NotificationHandler;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #isClosed = false;

  constructor(wire: Wire, shapes: Known, onNotification: NotificationHandler = () => {}) {
    this.#wire = wire;
    this.#shapes = shapes;
    this.#onNotification = onNotification;
  }

  /** Calls a method that has no bytes, and waits for the result. */
  ask<Name extends keyof Known & string>(
    method: Name,
    params: z.input<Known[Name]["params"]>,
    signal?: AbortSignal,
  ): Promise<z.output<Known[Name]["result"]>> {
    return this.call(method, params, signal ? { signal } : {}).result;
  }

  /** Calls a method with bytes both ways. */
  call<Name extends keyof Known & string>(
    method: Name,
    params: z.input<Known[Name]["params"]>,
    { onBytes, signal }: CallOptions = {},
  ): PendingCall<z.output<Known[Name]["result"]>> {
    const id = this.#newId();
    const sendCredit = (bytes: number) => this.#notify("rpc.credit", { stream: id, bytes });
    const stream = new Stream({ id, wire: this.#wire, sendCredit });
    stream.onBytes(onBytes ?? (() => {}));
    const answer = this.#send(id, stream, method, params);
    const cancel = () => this.#notify("rpc.cancel", { id });
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel);
    const shape: Known[Name] = this.#shapes[method];
    const result = answer
      .then((value) => parse<Known[Name]["result"]>(shape.result, value))
      .finally(() => signal?.removeEventListener("abort", cancel));
    return { id, stream, result };
  }

  text(payload: Uint8Array): void {
    const message = readJson(payload);
    const { data: call } = Call.safeParse(message);
    if (call) {
      this.#hear(call);
      return;
    }
    const { data: answer } = Answer.safeParse(message);
    if (answer && answer.id !== null) void this.#settle(answer, answer.id);
    else if (!answer) this.#wire.close("a text that is no answer");
  }

  binary(message: Uint8Array): void {
    const frame = parseBinary(message);
    const stream = frame && this.#waiting.get(frame.stream)?.stream;
    if (!frame || (stream && !stream.receive(frame.channel, frame.payload)))
      this.#wire.close("a binary message breaks the rules");
  }

  closed(): void {
    this.#isClosed = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { stream, reject } of waiting) {
      stream.close();
      reject(refuse("Disconnected", "The connection is gone."));
    }
  }

  #send(id: number, stream: Stream, method: string, params: object): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(refuse("Disconnected", "The connection is gone."));
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { stream, resolve, reject });
      this.#wire.sendText(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  #newId(): number {
    while (this.#waiting.has(this.#nextId)) this.#nextId = (this.#nextId % LAST_ID) + 1;
    const id = this.#nextId;
    this.#nextId = (id % LAST_ID) + 1;
    return id;
  }

  #notify(method: string, params: object): void {
    if (!this.#isClosed) this.#wire.sendText(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  #hear({ method, params = {} }: Call): void {
    if (method !== "rpc.credit") {
      this.#onNotification(method, params);
      return;
    }
    const { data } = Credit.safeParse(params);
    if (data) this.#waiting.get(data.stream)?.stream.grant(data.bytes);
  }

  async #settle({ error, result }: Answer, id: number): Promise<void> {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    await waiting.stream.drained();
    // The connection may have gone meanwhile: then the call has been rejected.
    if (!this.#waiting.delete(id)) return;
    waiting.stream.close();
    if (error) waiting.reject(new RpcError(error.code, error.message, error.data));
    else waiting.resolve(result);
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  return schema.parse(value);
}
