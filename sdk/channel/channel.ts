import type { BytesHandler } from "@svc/contract/control-channel/stream.ts";
import type { MethodName, Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type {
  CallOptions as RpcOptions,
  PendingCall,
} from "@svc/contract/control-channel/rpc-calls.ts";
import { FRAME_PAYLOAD_BYTES } from "@svc/contract/control-channel/frames.ts";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import { joined } from "../bytes.ts";
import type { WebSocketClass } from "../context.ts";
import { ApiError, ConnectionError, ControlError, SvcError } from "../errors.ts";
import { type CallOptions, type Limits, linked, sleep, within } from "../http/deadline.ts";
import { backoffMs } from "../http/retry.ts";
import { unref, utf8 } from "../socket.ts";
import { Connection } from "./connection.ts";

/** How long a machine that does not answer is called again. */
const RECONNECT_MS = 60_000;
const CLOSED = "The channel was closed.";
/** How often a safe request is sent again, and connections that end before they are used are followed by another one. */
const REPEATS_MOST = 5;
/** A socket that nobody uses is closed: it would keep the process, and its place of 64. */
const IDLE_MS = 10_000;
/** A connection that lasted so long has held. */
const HELD_MS = 10_000;

interface Opening {
  abort: AbortController;
  connection: Promise<Connection>;
}

/** Methods that may be called twice: they read, or end in a state. */
const SAFE =
  /^(commands\.(list|kill)|files\.(list|stat|search|mkdir)|code\.contexts|git\.(status|branches|log)|pty\.(list|resize|close)|computer\.(screen|cursor|clipboardGet|clipboardSet|windows|focus|geometry|processes|ports|wait))$/;

/** Bytes of a message around its parameters, at most. */
const HEAD_BYTES = 200;

const RPC_NAMES: Readonly<Record<number, string>> = {
  [RPC_CODES.params]: "InvalidParams",
  [RPC_CODES.method]: "UnknownMethod",
  [RPC_CODES.cancelled]: "Cancelled",
  [RPC_CODES.timedOut]: "TimedOut",
  [RPC_CODES.internal]: "Internal",
};

/** Options of a channel. */
export interface ChannelOptions {
  url: string;
  WebSocket: WebSocketClass | undefined;
  /** Milliseconds of a call. */
  timeoutMs: number;
  /** Reads the state of the machine: a refused socket tells no reason. Throws what its record's request throws. */
  stateOf: (signal: AbortSignal) => Promise<string>;
}

/** The control channel of one machine: a socket when one is needed, a new one when it was lost. */
export class Channel {
  readonly #options: ChannelOptions;
  #opening: Opening | null = null;
  /** Work that goes on. */
  readonly #uses = new Set<AbortController>();
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /** Calls a method. One that is safe to call twice is called again when its connection was lost. */
  ask<Name extends MethodName>(
    method: Name,
    params: Params<Name>,
    options: CallOptions = {},
    onBytes?: BytesHandler,
  ): Promise<Result<Name>> {
    return this.use(options, (limits) => this.call(method, params, limits, onBytes));
  }

  /** Calls a method inside a use, with bytes. */
  call<Name extends MethodName>(
    method: Name,
    params: Params<Name>,
    limits: Limits,
    onBytes: BytesHandler = () => {},
  ): Promise<Result<Name>> {
    const rpc = { onBytes, signal: limits.signal };
    return this.attempt(
      limits,
      SAFE.test(method),
      (connection) => this.begin(connection, method, params, rpc).result,
    );
  }

  /** Calls a method that only reads, again where its connection was lost, and keeps the bytes that it sends. */
  async read<Name extends MethodName>(
    method: Name,
    params: Params<Name>,
    options: CallOptions,
  ): Promise<[Result<Name>, Uint8Array]> {
    return this.use(options, (limits) =>
      this.attempt(limits, true, async (connection) => {
        const parts: Uint8Array[] = [];
        const onBytes = (_channel: number, bytes: Uint8Array): void => void parts.push(bytes);
        const rpc = { onBytes, signal: limits.signal };
        return [await this.begin(connection, method, params, rpc).result, joined(parts)];
      }),
    );
  }

  /** Does work on a connection; work that is safe to do twice is done again when the connection was lost. */
  async attempt<Value>(
    limits: Limits,
    isSafe: boolean,
    work: (connection: Connection) => Promise<Value>,
  ): Promise<Value> {
    for (let lost = 0; ; lost += 1) {
      const connection = await this.connection(limits);
      try {
        return await work(connection);
      } catch (error) {
        if (!isSafe || lost >= REPEATS_MOST || !isLost(error)) throw error;
        await sleep(backoffMs(lost), limits.signal);
      }
    }
  }

  /** Sends a request on one connection. */
  begin<Name extends MethodName>(
    { client }: Connection,
    method: Name,
    params: Params<Name>,
    rpc: RpcOptions,
  ): PendingCall<Result<Name>> {
    mustBeShort(params);
    return client.begin(method, params, rpc) as PendingCall<Result<Name>>;
  }

  /** Work over the channel, with the deadline of a call; its errors are those of the sdk. */
  async use<Value>(
    { signal, timeoutMs = this.#options.timeoutMs }: CallOptions,
    work: (limits: Limits) => Promise<Value>,
  ): Promise<Value> {
    const abort = linked(signal);
    this.#uses.add(abort);
    clearTimeout(this.#idle);
    try {
      return await within({ signal: abort.signal, timeoutMs }, work);
    } catch (error) {
      throw sdkError(error);
    } finally {
      abort.abort();
      this.#uses.delete(abort);
      if (this.#uses.size === 0) this.#idle = unref(setTimeout(() => this.drop(), IDLE_MS));
    }
  }

  /**
   * Goes on with something of the machine that outlives connections: `attach` is called again after each lost one, until it
   * answers. `placeOf` says how far it has come. A minute in which no connection held and the place stayed is the end.
   */
  async follow<Value>(
    limits: Limits,
    attach: (connection: Connection) => PendingCall<Value>,
    placeOf: () => unknown,
  ): Promise<Value> {
    let since = performance.now();
    let place = placeOf();
    for (let lost = 0; ; lost += 1) {
      const connection = await this.connection(limits);
      const begun = performance.now();
      try {
        return await attach(connection).result;
      } catch (error) {
        if (!isLost(error)) throw error;
        const now = performance.now();
        // A program may be silent for hours: then a connection that held is all that tells.
        if (now - begun > HELD_MS || placeOf() !== place) [lost, since] = [0, now];
        place = placeOf();
        if (now - since > RECONNECT_MS) throw error;
        if (lost > 0) await sleep(backoffMs(lost), limits.signal);
      }
    }
  }

  /** The connection that is open, or a new one. */
  async connection({ signal }: Limits): Promise<Connection> {
    for (let dead = 0; dead < REPEATS_MOST; dead += 1) {
      // A call that has been ended opens no connection.
      signal.throwIfAborted();
      const opening = (this.#opening ??= this.#open());
      // Other calls may wait for the same connection: the signal ends this wait alone.
      const connection = await within({ signal }, () => opening.connection);
      if (connection.isOpen) return connection;
      if (this.#opening === opening) this.#opening = null;
    }
    throw new ConnectionError("The machine closes each connection at once.");
  }

  /** Ends what goes on, and closes the socket. The next call opens another one. */
  close(): void {
    for (const abort of this.#uses) abort.abort(new ConnectionError(CLOSED));
    this.drop();
  }

  /** Closes the socket. What goes on and the next call open another one. */
  drop(): void {
    clearTimeout(this.#idle);
    const opening = this.#opening;
    this.#opening = null;
    opening?.abort.abort(new ConnectionError(CLOSED));
    opening?.connection.then(
      (connection) => connection.close(),
      () => {},
    );
  }

  #open(): Opening {
    const abort = new AbortController();
    const connection = this.#connect(abort.signal);
    const opening = { abort, connection };
    connection.catch(() => {
      if (this.#opening === opening) this.#opening = null;
    });
    return opening;
  }

  /** Opens a connection, in as many attempts as it takes while the machine is there. */
  #connect(given: AbortSignal): Promise<Connection> {
    const { WebSocket, url } = this.#options;
    return within({ signal: given, timeoutMs: RECONNECT_MS }, async ({ signal, leftMs }) => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await Connection.open(WebSocket, url, { signal, timeoutMs: leftMs() });
        } catch (error) {
          if (!(error instanceof ConnectionError) || signal.aborted) throw error;
          await this.#mustRun(signal);
          const wait = backoffMs(attempt);
          if (wait >= leftMs()) throw error;
          await sleep(wait, signal);
        }
      }
    });
  }

  /** Throws when a refused socket has a reason that stays. */
  async #mustRun(signal: AbortSignal): Promise<void> {
    const state = await this.#options.stateOf(signal).catch((error: unknown) => {
      // The gateway is away too: that passes.
      if (error instanceof ConnectionError || (error instanceof ApiError && error.status >= 500))
        return "running";
      throw error;
    });
    if (state === "running" || state === "starting") return;
    throw new ControlError("NotRunning", `The machine is ${state}: resume it, then call again.`);
  }
}

/** Whether a call failed because its connection was lost, so that another one may bring what this one did not. */
const isLost = (error: unknown): boolean => isRefused(error, "Disconnected");

/** A message that is too long would cost everybody on its socket the connection. */
function mustBeShort(params: object): void {
  const text = JSON.stringify(params);
  const isShort = text.length * 3 + HEAD_BYTES <= FRAME_PAYLOAD_BYTES;
  if (!isShort && utf8(text).length + HEAD_BYTES > FRAME_PAYLOAD_BYTES)
    throw new ControlError(
      "TooLarge",
      "The parameters are longer than 1 MiB: send them as a file.",
    );
}

/** An error of the channel as the sdk's callers know it. */
export function sdkError(error: unknown): unknown {
  if (error instanceof SvcError || !(error instanceof RpcError)) return error;
  const { code, message, data = {} } = error;
  if (data.code === "Disconnected") return new ConnectionError(message, { cause: error });
  return new ControlError(data.code ?? RPC_NAMES[code] ?? "Internal", message, data);
}
