import type { WebSocketClass } from "./context.ts";
import { ConnectionError, SvcError } from "./errors.ts";
import { within } from "./http/deadline.ts";

/** How a socket ended. Code 1006: it was cut. */
export interface SocketEnd {
  code: number;
  reason: string;
}

/** The listener of a socket. */
export interface SocketListener {
  onMessage: (data: string | Uint8Array) => void;
  onClose: (end: SocketEnd) => void;
}

/** A socket that answers no close has so long. */
const CLOSING_MS = 500;

const encoder = new TextEncoder();

/** An open WebSocket of any runtime, as far as the sdk needs one. */
export class Socket {
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Opens a socket. A refusal is a `ConnectionError`: no runtime tells a program more. */
  static open(
    Class: WebSocketClass | undefined,
    url: string,
    listener: SocketListener,
    options: { protocol?: string; signal?: AbortSignal | undefined; timeoutMs?: number } = {},
  ): Promise<Socket> {
    const how = Class ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
    if (!how)
      throw new SvcError(
        "This runtime has no WebSocket: pass `WebSocket` of the package ws to Svc.",
      );
    const raw = options.protocol === undefined ? new how(url) : new how(url, options.protocol);
    raw.binaryType = "arraybuffer";
    const socket = new Socket(raw);
    const opened = new Promise<Socket>((resolve, reject) => {
      raw.addEventListener("open", () => resolve(socket));
      // Some runtimes do not close a socket that failed, others do: the listener is told of one end alone.
      const end = (code: number, reason: string): void => {
        reject(new ConnectionError(`The socket ended with ${code}${reason && `: ${reason}`}.`));
        listener.onClose({ code, reason });
        listener.onClose = () => {};
      };
      raw.addEventListener("close", ({ code, reason }) => end(code, reason));
      raw.addEventListener("error", () => raw.readyState !== 1 && end(1006, ""));
    });
    raw.addEventListener("message", ({ data }: { data: unknown }) => {
      if (typeof data === "string") listener.onMessage(data);
      else if (data instanceof ArrayBuffer) listener.onMessage(new Uint8Array(data));
    });
    const { signal, timeoutMs } = options;
    return within({ signal, timeoutMs }, () => opened).catch((error: unknown) => {
      socket.close();
      throw error;
    });
  }

  get isOpen(): boolean {
    return this.#socket.readyState === 1;
  }

  /** Sends a message; on a socket that is gone it is dropped, and the listener is told of the end. */
  send(message: string | Uint8Array): void {
    if (this.isOpen) this.#socket.send(message as string | Uint8Array<ArrayBuffer>);
  }

  /** Closes the socket. One whose other side is silent is cut, where the runtime can. */
  close(reason = ""): void {
    const socket = this.#socket as WebSocket & { terminate?: () => void };
    if (socket.readyState >= 2) return;
    // Browsers let a program send no other code for what went wrong.
    socket.close(1000, reason);
    const { terminate } = socket;
    if (terminate) unref(setTimeout(() => terminate.call(socket), CLOSING_MS));
  }
}

/** A text as its bytes. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** A timer that does not keep the process, where there is such a thing. */
export function unref(timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
