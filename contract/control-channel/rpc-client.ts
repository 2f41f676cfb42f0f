import type * as z from "zod";
import { timeoutOf } from "./messages.ts";
import {
  type CallOptions as CallsOptions,
  type NotificationHandler,
  passing,
  type PendingCall,
  RpcCalls,
  shortened,
} from "./rpc-calls.ts";
import { RPC_CODES, RpcError } from "./rpc-error.ts";
import type { Wire } from "./wire.ts";

const LONGEST_TIMER_MS = 0x7fff_ffff;

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

/** Options of a call: what takes its bytes, what cancels it, and how long its answer may take. */
export interface CallOptions extends CallsOptions {
  limitMs?: number;
}

/** The asking side of a control connection whose other side is not to be trusted: every result is judged by its schema. */
export class RpcClient<Known extends Shapes> extends RpcCalls {
  readonly #shapes: Known;
  readonly #answerMs: number | undefined;

  constructor(
    wire: Wire,
    shapes: Known,
    onNotification: NotificationHandler = () => {},
    { answerMs, onUnwanted }: ClientLimits = {},
  ) {
    super(wire, onNotification, onUnwanted);
    this.#shapes = shapes;
    this.#answerMs = answerMs;
  }

  /** Calls a method that has no bytes, and waits for the result. Rejects with `Disconnected` when it takes too long. */
  ask<Name extends keyof Known & string>(
    method: Name,
    params: z.input<Known[Name]["params"]>,
    signal?: AbortSignal,
  ): Promise<z.output<Known[Name]["result"]>> {
    const timeoutMs = timeoutOf(params) ?? 0;
    const answerMs = this.#answerMs;
    return this.call(method, params, {
      ...(signal && { signal }),
      ...(answerMs !== undefined && { limitMs: timeoutMs + answerMs }),
    }).result;
  }

  /** Calls a method with bytes both ways. */
  call<Name extends keyof Known & string>(
    method: Name,
    params: z.input<Known[Name]["params"]>,
    { limitMs, ...options }: CallOptions = {},
  ): PendingCall<z.output<Known[Name]["result"]>> {
    const { id, stream, result: answer } = this.begin(method, params, options);
    const stop = this.#limit(id, limitMs);
    const shape: Known[Name] = this.#shapes[method];
    const result = answer
      .then((value) => judge<Known[Name]["result"]>(shape.result, value, method))
      .finally(stop);
    return { id, stream, result };
  }

  /** Gives a call up at its limit. Returns what stops this. */
  #limit(id: number, limitMs: number | undefined): () => void {
    if (limitMs === undefined) return () => {};
    const late = passing("Disconnected", "The agent does not answer.");
    const timer = setTimeout(() => this.giveUp(id, late), Math.min(limitMs, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  }
}

function judge<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  method: string,
): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const { path = [], message = "" } = error.issues[0] ?? {};
  const words = `The answer to ${method} breaks the contract: ${path.join(".")} ${message}`;
  throw new RpcError(RPC_CODES.internal, shortened(words));
}
