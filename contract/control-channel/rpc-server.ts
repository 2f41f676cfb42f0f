import * as z from "zod";
import { parseBinary } from "./binary-frame.ts";
import { FRAME_PAYLOAD_BYTES } from "./frames.ts";
import { type Call, readCall, readCancel, readCredit, readJson, timeoutOf } from "./messages.ts";
import { OWN_END_MS, Overdue, stopWaiting } from "./overdue.ts";
import { refuse } from "./refusals.ts";
import { RPC_CODES, RpcError } from "./rpc-error.ts";
import { Stream } from "./stream.ts";
import type { Receiver, Wire } from "./wire.ts";

/** Requests of one connection that may be in flight. */
export const REQUESTS_MAX = 1_000;

/** The request of a running method. */
export interface RequestContext {
  id: number;
  /** Aborted by `rpc.cancel`, by a timeout and by the end of the connection. */
  signal: AbortSignal;
  stream: Stream;
  notify: (method: string, params: object) => void;
}

/** A method of a server. `run` gets parameters that nobody has checked yet. */
export interface Method {
  run: (params: unknown, context: RequestContext) => Promise<object>;
  /** The method ends itself at `timeoutMs` and answers in its own way; the server waits `OWN_END_MS` longer. */
  keepsTime?: boolean;
}

/** Methods of a server by name. */
export type Methods = ReadonlyMap<string, Method>;

interface Request {
  abort: AbortController;
  stream: Stream;
}

/** Options of a server. */
export interface ServerOptions {
  /** Counts methods that go on after their requests; one count may serve many connections. */
  overdue?: Overdue;
}

const encoder = new TextEncoder();

/** The answering side of a control connection. */
export class RpcServer implements Receiver {
  readonly #wire: Wire;
  readonly #methods: Methods;
  readonly #overdue: Overdue;
  readonly #requests = new Map<number, Request>();
  #isClosed = false;

  constructor(wire: Wire, methods: Methods, { overdue = new Overdue() }: ServerOptions = {}) {
    this.#wire = wire;
    this.#methods = methods;
    this.#overdue = overdue;
  }

  notify(method: string, params: object): void {
    if (!this.#isClosed) this.#wire.sendText(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  text(payload: Uint8Array): void {
    const message = readJson(payload);
    if (message === undefined) {
      this.#fail(null, new RpcError(RPC_CODES.parse, "This is not JSON."));
      return;
    }
    const call = readCall(message);
    if (!call) this.#fail(null, new RpcError(RPC_CODES.request, "This is not a request."));
    else if (call.id === undefined) this.#hear(call);
    else this.#begin(call, call.id);
  }

  binary(message: Uint8Array): void {
    const frame = parseBinary(message);
    if (!frame) {
      this.#wire.close("a binary message breaks the format");
      return;
    }
    const stream = this.#requests.get(frame.stream)?.stream;
    if (stream && !stream.receive(frame.channel, frame.payload))
      this.#wire.close("more bytes than the credit of the stream");
  }

  closed(): void {
    this.#isClosed = true;
    for (const { abort, stream } of this.#requests.values()) {
      abort.abort(refuse("Disconnected", "The connection is gone."));
      stream.close();
    }
    this.#requests.clear();
  }

  #hear({ method, params }: Call): void {
    if (method === "rpc.credit") {
      const credit = readCredit(params);
      if (credit) this.#requests.get(credit.stream)?.stream.grant(credit.bytes);
    } else if (method === "rpc.cancel") {
      const id = readCancel(params);
      const request = id === null ? undefined : this.#requests.get(id);
      request?.abort.abort(new RpcError(RPC_CODES.cancelled, "The request was cancelled."));
    }
  }

  #begin(call: Call, id: number): void {
    const method = this.#methods.get(call.method);
    if (this.#requests.has(id))
      this.#fail(null, new RpcError(RPC_CODES.request, `Request ${id} is in flight already.`));
    else if (!method)
      this.#fail(id, new RpcError(RPC_CODES.method, `There is no method ${call.method}.`));
    else if (this.#requests.size >= REQUESTS_MAX)
      this.#fail(id, refuse("Busy", "Too many requests of this connection are in flight."));
    else if (this.#overdue.isFull)
      this.#fail(id, refuse("Busy", "Too many ended requests still hold the machine's agent."));
    else void this.#run(method, call.params ?? {}, id);
  }

  async #run(method: Method, params: object, id: number): Promise<void> {
    const abort = new AbortController();
    const { signal } = abort;
    const sendCredit = (bytes: number) => this.notify("rpc.credit", { stream: id, bytes });
    const onFault = (error: unknown) => abort.abort(error);
    const stream = new Stream({ id, wire: this.#wire, sendCredit, onFault });
    const request = { abort, stream };
    this.#requests.set(id, request);
    const timer = startTimer(params, abort, method.keepsTime ? OWN_END_MS : 0);
    const notify = (name: string, told: object): void => {
      if (this.#requests.get(id) === request) this.notify(name, told);
    };
    const running = begin(() => method.run(params, { id, signal, stream, notify }));
    try {
      const result = await stopWaiting(running, signal);
      signal.throwIfAborted();
      this.#answer(id, result);
    } catch (error) {
      this.#fail(id, signal.aborted ? toRpcError(signal.reason) : toRpcError(error));
    } finally {
      if (timer !== null) clearTimeout(timer);
      stream.close();
      this.#requests.delete(id);
      if (signal.aborted) this.#overdue.add(running);
    }
  }

  #answer(id: number, result: object): void {
    if (this.#isClosed) return;
    const text = JSON.stringify({ jsonrpc: "2.0", id, result });
    // A character is at most three bytes: only what may be too long is measured.
    const isLong = text.length * 3 > FRAME_PAYLOAD_BYTES;
    if (isLong && encoder.encode(text).length > FRAME_PAYLOAD_BYTES)
      this.#fail(id, refuse("TooLarge", "The answer is longer than a message may be."));
    else this.#wire.sendText(text);
  }

  #fail(id: number | null, error: RpcError): void {
    if (this.#isClosed) return;
    this.#wire.sendText(JSON.stringify({ jsonrpc: "2.0", id, error: error.toObject() }));
  }
}

/** A method that throws at once is one that rejects. */
async function begin(run: () => Promise<object>): Promise<object> {
  return run();
}

function startTimer(
  params: object,
  abort: AbortController,
  moreMs: number,
): ReturnType<typeof setTimeout> | null {
  const timeoutMs = timeoutOf(params);
  if (timeoutMs === null) return null;
  const error = new RpcError(RPC_CODES.timedOut, `The request took longer than ${timeoutMs} ms.`);
  return setTimeout(() => abort.abort(error), Math.min(timeoutMs + moreMs, 0x7fff_ffff));
}

function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    const field = issue?.path.join(".") ?? "";
    return new RpcError(RPC_CODES.params, `${field}: ${issue?.message ?? ""}`, { field });
  }
  return new RpcError(RPC_CODES.internal, error instanceof Error ? error.message : String(error));
}
