import type { WebSocketClass } from "./context.ts";
import { ConnectionError, SvcError } from "./errors.ts";
import { type CallOptions, within } from "./http/deadline.ts";
import { Socket, type SocketEnd } from "./socket.ts";

// A file of its own as it is built: these are the classes of its errors.
export { ConnectionError, SvcError, TimeoutError } from "./errors.ts";

type Fields = Record<string, unknown>;
/** Takes the parameters of an event. */
export type CdpListener = (params: Fields) => void;

/** How a DevTools connection is opened. */
export interface CdpOptions extends CallOptions {
  WebSocket?: WebSocketClass | undefined;
}

/** An error that the browser answered. */
export class CdpError extends SvcError {
  override name = "CdpError";
  declare readonly method: string;
  declare readonly code: number;

  constructor(method: string, { code = 0, message = "" }: { code?: number; message?: string }) {
    super(`${method}: ${message}`);
    this.method = method;
    this.code = code;
  }
}

interface Waiting {
  method: string;
  resolve: (result: Fields) => void;
  reject: (error: Error) => void;
}

const ANSWER_MS = 30_000;

/** A raw DevTools connection: commands, events and sessions of targets (document 1, /cdp). */
export class Cdp {
  readonly #socket: Socket;
  readonly #waiting: Map<number, Waiting>;
  readonly #listeners: Map<string, Set<CdpListener>>;
  /** Resolves when the connection is over, with its close code (contract/close-codes.ts). */
  declare readonly closed: Promise<SocketEnd>;
  #nextId = 1;

  private constructor(parts: Pick<Cdp, "closed">, socket: Socket, maps: Maps) {
    this.#socket = socket;
    this.#waiting = maps.waiting;
    this.#listeners = maps.listeners;
    this.closed = parts.closed;
  }

  /** Connects to a `cdpEndpoint`. Such a URL works for 90 minutes; a refusal is a `ConnectionError`. */
  static async connect(url: string, options: CdpOptions = {}): Promise<Cdp> {
    const maps: Maps = { waiting: new Map(), listeners: new Map() };
    let tellEnd = (_end: SocketEnd): void => {};
    const closed = new Promise<SocketEnd>((resolve) => (tellEnd = resolve));
    const { signal, timeoutMs = 60_000 } = options;
    const listener = {
      onMessage: (data: string | Uint8Array) => hear(maps, data),
      onClose: (end: SocketEnd) => {
        const error = new ConnectionError(
          `The browser's socket ended with ${end.code}: ${end.reason}.`,
        );
        for (const { reject } of maps.waiting.values()) reject(error);
        maps.waiting.clear();
        tellEnd(end);
      },
    };
    const socket = await Socket.open(options.WebSocket, url, listener, { signal, timeoutMs });
    return new Cdp({ closed }, socket, maps);
  }

  /** Sends a command, to the browser or to a session of a target. `CdpError`: the browser refuses it. */
  send(
    method: string,
    params: object = {},
    options: CallOptions & { sessionId?: string | undefined } = {},
  ): Promise<Fields> {
    const { sessionId, signal, timeoutMs = ANSWER_MS } = options;
    const id = this.#nextId++;
    return within({ signal, timeoutMs }, () => {
      if (!this.#socket.isOpen) throw new ConnectionError("The browser's socket is closed.");
      return new Promise<Fields>((resolve, reject) => {
        this.#waiting.set(id, { method, resolve, reject });
        this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
      });
    }).finally(() => this.#waiting.delete(id));
  }

  /** Listens to an event, of the browser or of a session. Answers what stops it. */
  on(event: string, listener: CdpListener, sessionId = ""): () => void {
    const key = `${sessionId} ${event}`;
    const all = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && this.#listeners.get(key) === all) this.#listeners.delete(key);
    };
  }

  /** Waits for an event. */
  once(
    event: string,
    options: CallOptions & { sessionId?: string | undefined } = {},
  ): Promise<Fields> {
    const { sessionId, signal, timeoutMs = ANSWER_MS } = options;
    let stop = (): void => {};
    const heard = new Promise<Fields>((resolve) => (stop = this.on(event, resolve, sessionId)));
    const lost = this.closed.then(({ code }) => {
      throw new ConnectionError(`The browser's socket ended with ${code}.`);
    });
    lost.catch(() => {});
    return within({ signal, timeoutMs }, () => Promise.race([heard, lost])).finally(stop);
  }

  /** A session of a target, on this connection. */
  async attach(targetId: string, options: CallOptions = {}): Promise<CdpSession> {
    const params = { targetId, flatten: true };
    const { sessionId } = await this.send("Target.attachToTarget", params, options);
    return new CdpSession(this, String(sessionId));
  }

  /** Opens a page and attaches to it. */
  async newPage(url = "about:blank", options: CallOptions = {}): Promise<CdpSession> {
    const { targetId } = await this.send("Target.createTarget", { url }, options);
    return this.attach(String(targetId), options);
  }

  /** Closes the connection. A session without a lease is released with its last client. */
  close(): void {
    this.#socket.close();
  }
}

/** A session of a target: what is sent and heard is that target's. */
export class CdpSession {
  readonly #cdp: Cdp;
  declare readonly sessionId: string;

  constructor(cdp: Cdp, sessionId: string) {
    this.#cdp = cdp;
    this.sessionId = sessionId;
  }

  /** Sends a command to the target. */
  send(method: string, params: object = {}, options: CallOptions = {}): Promise<Fields> {
    return this.#cdp.send(method, params, { ...options, sessionId: this.sessionId });
  }

  /** Listens to an event of the target. Answers what stops it. */
  on(event: string, listener: CdpListener): () => void {
    return this.#cdp.on(event, listener, this.sessionId);
  }

  /** Waits for an event of the target. */
  once(event: string, options: CallOptions = {}): Promise<Fields> {
    return this.#cdp.once(event, { ...options, sessionId: this.sessionId });
  }

  /** Ends the session; the target lives on. */
  async detach(options: CallOptions = {}): Promise<void> {
    await this.#cdp.send("Target.detachFromTarget", { sessionId: this.sessionId }, options);
  }
}

interface Maps {
  waiting: Map<number, Waiting>;
  listeners: Map<string, Set<CdpListener>>;
}

const decoder = new TextDecoder();

function hear({ waiting, listeners }: Maps, data: string | Uint8Array): void {
  const text = typeof data === "string" ? data : decoder.decode(data);
  const message = JSON.parse(text) as Fields & { error?: { code?: number; message?: string } };
  const { id, method, result, error, params, sessionId = "" } = message;
  if (typeof id !== "number") {
    const heard = listeners.get(`${String(sessionId)} ${String(method)}`);
    for (const listener of Array.from(heard ?? [])) listener((params ?? {}) as Fields);
    return;
  }
  const asked = waiting.get(id);
  if (error) asked?.reject(new CdpError(asked.method, error));
  else asked?.resolve((result ?? {}) as Fields);
}
