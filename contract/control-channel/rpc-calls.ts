import { parseBinary } from "./binary-frame.ts";
import {
  type Answer,
  type Call,
  LAST_REQUEST_ID,
  readAnswer,
  readCall,
  readCredit,
  readJson,
} from "./messages.ts";
import type { RefusalCode } from "./refusals.ts";
import { ContractBreach, RPC_CODES, RpcError } from "./rpc-error.ts";
import { type BytesHandler, Stream } from "./stream.ts";
import type { Receiver, Wire } from "./wire.ts";

/** Longest text of an error that is kept: the other side may write a whole message of it. */
const ERROR_CHARACTERS = 2_000;
/** How long a cancelled request waits for its answer. */
const CANCEL_ANSWER_MS = 10_000;

/** Bytes that a client holds of all streams of its connection. Beyond this the stream that holds most is given up. */
export const HELD_BYTES = 32 * 1024 * 1024;

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
  reject: (error: unknown) => void;
  /** The answer is here, and waits until its bytes are taken. Whatever comes after is dropped. */
  isAnswered: boolean;
}

/** Takes notifications of the other side: `rpc.hello`, `rpc.gap`, `files.event` and the like. */
export type NotificationHandler = (method: string, params: Record<string, unknown>) => void;

/** The calls of one control connection. Results are taken as they come; `RpcClient` judges them by their schemas. */
export class RpcCalls implements Receiver {
  readonly #wire: Wire;
  readonly #onNotification: NotificationHandler;
  readonly #onUnwanted: (bytes: number) => void;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #heldBytes = 0;
  #isClosed = false;

  /** `onUnwanted`: the other side sent so many bytes that nobody waits for. */
  constructor(
    wire: Wire,
    onNotification: NotificationHandler,
    onUnwanted: (bytes: number) => void = () => {},
  ) {
    this.#wire = wire;
    this.#onNotification = onNotification;
    this.#onUnwanted = onUnwanted;
  }

  /** Sends a request, with bytes both ways. */
  begin(
    method: string,
    params: object,
    { onBytes, signal }: CallOptions = {},
  ): PendingCall<unknown> {
    const id = this.#newId();
    const stream = this.#newStream(id);
    stream.onBytes(onBytes ?? (() => {}));
    const answer = this.#send(id, stream, method, params);
    return { id, stream, result: answer.finally(this.#listen(id, signal)) };
  }

  /** Ends a request without its answer. */
  giveUp(id: number, error: unknown): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    waiting.stream.close();
    this.#notify("rpc.cancel", { id });
    waiting.reject(error);
  }

  text(payload: Uint8Array): void {
    const message = readJson(payload);
    const call = readCall(message);
    if (call) return this.#hear(call, payload.length);
    const answer = readAnswer(message);
    if (!answer) return this.#wire.close("a text that is no answer");
    const waiting = answer.id === null ? undefined : this.#waiting.get(answer.id);
    if (!waiting || waiting.isAnswered) return this.#onUnwanted(payload.length);
    void this.#settle(answer, waiting);
  }

  binary(message: Uint8Array): void {
    const frame = parseBinary(message);
    if (!frame) return this.#wire.close("a binary message breaks the format");
    const waiting = this.#waiting.get(frame.stream);
    if (!waiting || waiting.isAnswered) return this.#onUnwanted(message.length);
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
      reject(gone());
    }
  }

  #send(id: number, stream: Stream, method: string, params: object): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(gone());
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
        else this.giveUp(id, error);
      },
    });
  }

  /** Cancels a call with its signal, and gives it up some time after that. Returns what stops this. */
  #listen(id: number, signal?: AbortSignal): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const cancel = (): void => {
      this.#notify("rpc.cancel", { id });
      const late = passing("Disconnected", "The agent does not answer.");
      timer = setTimeout(() => this.giveUp(id, late), CANCEL_ANSWER_MS);
    };
    if (signal?.aborted) cancel();
    signal?.addEventListener("abort", cancel);
    return () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    };
  }

  /** Gives up the call that holds most: the reader of that call is the slowest. */
  #giveUpLargest(): void {
    const [first, ...others] = this.#waiting.values();
    const largest = others.reduce(
      (most, one) => (one.stream.heldBytes > (most?.stream.heldBytes ?? 0) ? one : most),
      first,
    );
    const why = "Its bytes were not taken, and those of all streams together are too many.";
    if (largest) this.giveUp(largest.stream.id, passing("Busy", why));
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
    else this.#onUnwanted(bytes);
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

/** A text of the other side, as long as an error's may be. */
export const shortened = (text: string): string => text.slice(0, ERROR_CHARACTERS);

/** A refusal of this side that passes. The table of all refusals stays out of the sdk. */
export const passing = (code: RefusalCode, message: string): RpcError =>
  new RpcError(RPC_CODES.refused, message, { code, retryable: true });

const gone = (): RpcError => passing("Disconnected", "The connection is gone.");
