import type * as z from "zod";
import { parseBinary } from "./binary-frame.ts";
import {
  type Answer,
  type Call,
  LAST_REQUEST_ID,
  readAnswer,
  readCall,
  readCredit,
  readJson,
  timeoutOf,
} from "./messages.ts";
import type { RefusalCode } from "./refusals.ts";
import { ContractBreach, RPC_CODES, RpcError } from "./rpc-error.ts";
import { type BytesHandler, Stream } from "./stream.ts";
import type { Receiver, Wire } from "./wire.ts";

/** Longest text of an error that is kept: the other side may write a whole message of it. */
const ERROR_CHARACTERS = 2_000;
/** How long a cancelled request waits for its answer. */
const CANCEL_ANSWER_MS = 10_000;
const LONGEST_TIMER_MS = 0x7fff_ffff;

/** Bytes that a client holds of all streams of its connection. Beyond this the stream that holds most is given up. */
export const HELD_BYTES = 32 * 1024 * 1024;

/** Parameters and result of a method. */
export interface MethodShape {
  params: z.ZodType<object, object>;
  result: z.ZodType<object>;
}
/** Methods by name. */
export type Shapes = Record<string, MethodShape>;

/** Limits that a client sets its other side. */
export interface ClientLimits {
  /** How long the answer to an `ask` may take, beyond the `timeoutMs` of the request. */
  answerMs?: number;
  /** The other side sent so many bytes that nobody waits for. */
  onUnwanted?: (bytes: number) => void;
}

/** A request under way. */
export interface PendingCall<Result> {
  id: number;
  /** Sends bytes to the method. */
  stream: Stream;
  /** Resolves when every byte that came before the result has been taken. Rejects with an `RpcError`. */
  result: Promise<Result>;
}

/** Options of a call: what takes its bytes, what cancels it, and how long its answer may take. */
export interface CallOptions {
  onBytes?: BytesHandler;
  signal?: AbortSignal;
  limitMs?: number;
}

interface Waiting {
  stream: Stream;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** The answer is here, and waits until its bytes are taken. Whatever comes after is dropped. */
  isAnswered: boolean;
}

/** Takes notifications of the other side: `rpc.hello`, `rpc.gap`, `files.event` and the like. */
export type NotificationHandler = (method: string, params: Record<string, unknown>) => void;

/** The asking side of a control connection. */
export class RpcClient<Known extends Shapes> implements Receiver {
  readonly #wire: Wire;
  readonly #shapes: Known | null;
  readonly #onNotification: NotificationHandler;
  readonly #limits: ClientLimits;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #heldBytes = 0;
  #isClosed = false;

  /** Without `shapes` results are taken as they come: the sdk trusts its service, and schemas would outweigh it. */
  constructor(
    wire: Wire,
    shapes: Known | null,
    onNotification: NotificationHandler = () => {},
    limits: ClientLimits = {},
  ) {
    this.#wire = wire;
    this.#shapes = shapes;
    this.#onNotification = onNotification;
    this.#limits = limits;
  }

  /** Calls a method that has no bytes, and waits for the result. Rejects with `Disconnected` when it takes too long. */
  ask<Name extends keyof Known & string>(
    method: Name,
    params: z.input<Known[Name]["params"]>,
    signal?: AbortSignal,
  ): Promise<z.output<Known[Name]["result"]>> {
    const timeoutMs = timeoutOf(params) ?? 0;
    const { answerMs } = this.#limits;
    return this.call(method, params, {
      ...(signal && { signal }),
      ...(answerMs !== undefined && { limitMs: timeoutMs + answerMs }),
    }).result;
  }

  /** Calls a method with bytes both ways. */
  call<Name extends keyof Known & string>(
    method: Name,
    params: z.input<Known[Name]["params"]>,
    { onBytes, signal, limitMs }: CallOptions = {},
  ): PendingCall<z.output<Known[Name]["result"]>> {
    const id = this.#newId();
    const stream = this.#newStream(id);
    stream.onBytes(onBytes ?? (() => {}));
    const answer = this.#send(id, stream, method, params);
    const stop = this.#limit(id, signal, limitMs);
    const shape = this.#shapes?.[method];
    const result = answer
      .then((value) => judge<Known[Name]["result"]>(shape?.result, value, method))
      .finally(stop);
    return { id, stream, result };
  }

  text(payload: Uint8Array): void {
    const message = readJson(payload);
    const call = readCall(message);
    if (call) return this.#hear(call, payload.length);
    const answer = readAnswer(message);
    if (!answer) return this.#wire.close("a text that is no answer");
    const waiting = answer.id === null ? undefined : this.#waiting.get(answer.id);
    if (!waiting || waiting.isAnswered) return this.#limits.onUnwanted?.(payload.length);
    void this.#settle(answer, waiting);
  }

  binary(message: Uint8Array): void {
    const frame = parseBinary(message);
    if (!frame) return this.#wire.close("a binary message breaks the format");
    const waiting = this.#waiting.get(frame.stream);
    if (!waiting || waiting.isAnswered) return this.#limits.onUnwanted?.(message.length);
    if (!waiting.stream.receive(frame.channel, frame.payload))
      return this.#wire.close("more bytes than the credit of the stream");
    if (this.#heldBytes > HELD_BYTES) this.#giveUpLargest();
  }

  closed(): void {
    this.#isClosed = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { stream, reject } of waiting) {
      stream.close();
      reject(passing("Disconnected", "The connection is gone."));
    }
  }

  #send(id: number, stream: Stream, method: string, params: object): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(passing("Disconnected", "The connection is gone."));
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { stream, resolve, reject, isAnswered: false });
      this.#wire.sendText(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  #newStream(id: number): Stream {
    return new Stream({
      id,
      wire: this.#wire,
      sendCredit: (bytes) => this.#notify("rpc.credit", { stream: id, bytes }),
      onHeld: (bytes) => void (this.#heldBytes += bytes),
      onFault: (error) => {
        if (error instanceof ContractBreach) this.#wire.close(error.message);
        else this.#giveUp(id, error);
      },
    });
  }

  /** Gives a call up at its limit, or some time after it was cancelled. Returns what stops this. */
  #limit(id: number, signal?: AbortSignal, limitMs?: number): () => void {
    const giveUpIn = (ms: number) => {
      const late = passing("Disconnected", "The agent does not answer.");
      return setTimeout(() => this.#giveUp(id, late), Math.min(ms, LONGEST_TIMER_MS));
    };
    let timer = limitMs === undefined ? undefined : giveUpIn(limitMs);
    const cancel = () => {
      this.#notify("rpc.cancel", { id });
      clearTimeout(timer);
      timer = giveUpIn(CANCEL_ANSWER_MS);
    };
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel);
    return () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    };
  }

  #giveUp(id: number, error: unknown): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    waiting.stream.close();
    this.#notify("rpc.cancel", { id });
    waiting.reject(error);
  }

  /** Gives up the call that holds most: the reader of that call is the slowest. */
  #giveUpLargest(): void {
    const [first, ...others] = this.#waiting.values();
    const largest = others.reduce(
      (most, one) => (one.stream.heldBytes > (most?.stream.heldBytes ?? 0) ? one : most),
      first,
    );
    const why = "Its bytes were not taken, and those of all streams together are too many.";
    if (largest) this.#giveUp(largest.stream.id, passing("Busy", why));
  }

  #newId(): number {
    while (this.#waiting.has(this.#nextId)) this.#nextId = (this.#nextId % LAST_REQUEST_ID) + 1;
    const id = this.#nextId;
    this.#nextId = (id % LAST_REQUEST_ID) + 1;
    return id;
  }

  #notify(method: string, params: object): void {
    if (!this.#isClosed) this.#wire.sendText(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  #hear({ method, params = {} }: Call, bytes: number): void {
    if (method !== "rpc.credit") {
      this.#onNotification(method, params);
      return;
    }
    const credit = readCredit(params);
    const waiting = credit && this.#waiting.get(credit.stream);
    if (waiting) waiting.stream.grant(credit.bytes);
    else this.#limits.onUnwanted?.(bytes);
  }

  async #settle({ error, result }: Answer, waiting: Waiting): Promise<void> {
    waiting.isAnswered = true;
    const { id } = waiting.stream;
    await waiting.stream.drained();
    // The connection may have gone meanwhile: then the call has been rejected.
    if (this.#waiting.get(id) !== waiting) return;
    this.#waiting.delete(id);
    waiting.stream.close();
    if (error) waiting.reject(new RpcError(error.code, shortened(error.message), error.data));
    else waiting.resolve(result);
  }
}

/** A refusal of this side. The table of all refusals stays out of the sdk. */
const passing = (code: RefusalCode, message: string): RpcError =>
  new RpcError(RPC_CODES.refused, message, { code, retryable: true });

const shortened = (text: string): string => text.slice(0, ERROR_CHARACTERS);

function judge<Schema extends z.ZodType>(
  schema: Schema | undefined,
  value: unknown,
  method: string,
): z.output<Schema> {
  if (!schema) return value as z.output<Schema>;
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const { path = [], message = "" } = error.issues[0] ?? {};
  const words = `The answer to ${method} breaks the contract: ${path.join(".")} ${message}`;
  throw new RpcError(RPC_CODES.internal, shortened(words));
}
