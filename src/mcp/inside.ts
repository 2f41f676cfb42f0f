import type { WebSocketClass } from "@svc/sdk/context.ts";
import type { AppContext, AppEnv } from "../context.ts";
import type { Hono } from "hono";

type App = Hono<AppEnv>["fetch"];

/** Sends the requests of a caller's sdk to this very Worker: none leaves it. */
export function insideFetch(c: Pick<AppContext, "env" | "executionCtx">, app: App): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    // A service on one machine asks under which name it was called.
    request.headers.set("host", new URL(request.url).host);
    return app(request, c.env, c.executionCtx);
  };
}

const OPEN = 1;
const CLOSED = 3;

/** A class of sockets that open by an upgrade of such a fetch. */
export function insideSocket(send: typeof fetch): WebSocketClass {
  const Class = class extends InsideSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(send, url, protocols);
    }
  };
  // The class has as much of a WebSocket as the sdk uses.
  return Class as unknown as WebSocketClass;
}

class InsideSocket extends EventTarget {
  binaryType = "arraybuffer";
  readyState = 0;
  readonly #abort = new AbortController();
  #socket: WebSocket | null = null;

  constructor(send: typeof fetch, url: string, protocols: string | string[] = []) {
    super();
    void this.#open(send, url, [protocols].flat());
  }

  async #open(send: typeof fetch, url: string, protocols: string[]): Promise<void> {
    try {
      const { signal } = this.#abort;
      const headers = upgradeHeaders(protocols);
      const response = await send(url.replace(/^ws/, "http"), { headers, signal });
      const { webSocket } = response;
      if (!webSocket) throw new Error((await response.text()).trim());
      if (signal.aborted) cutOff(webSocket);
      else this.#opened(webSocket);
    } catch (error) {
      this.#closed(1006, error instanceof Error ? error.message : String(error));
    }
  }

  #opened(socket: WebSocket): void {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) =>
      this.dispatchEvent(new MessageEvent("message", { data })),
    );
    socket.addEventListener("close", ({ code, reason }) => this.#closed(code, reason));
    socket.addEventListener("error", () => this.#closed(1006, ""));
    socket.accept();
    this.readyState = OPEN;
    this.dispatchEvent(new Event("open"));
  }

  #closed(code: number, reason: string): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.dispatchEvent(new CloseEvent("close", { code, reason }));
  }

  send(message: string | Uint8Array<ArrayBuffer>): void {
    this.#socket?.send(message);
  }

  close(code = 1000, reason = ""): void {
    if (this.#socket) this.#socket.close(code, reason);
    else this.#abort.abort();
    this.#closed(code, reason);
  }
}

function upgradeHeaders(protocols: string[]): Headers {
  const nonce = crypto.getRandomValues(new Uint8Array(16));
  const headers = new Headers({
    upgrade: "websocket",
    "sec-websocket-key": btoa(String.fromCharCode(...nonce)),
  });
  if (protocols.length > 0) headers.set("sec-websocket-protocol", protocols.join(", "));
  return headers;
}

/** Closes a socket that nobody waits for any more. */
function cutOff(socket: WebSocket): void {
  socket.accept();
  socket.close(1000, "");
}
