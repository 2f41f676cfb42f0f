import { createHash } from "node:crypto";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** The word in the handshake of WebSockets (RFC 6455). */
const HANDSHAKE = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/**
 * A site that leads to others: `/to?URL` redirects, `/frame?URL` holds a frame, `/worker.js` is a service worker that fetches
 * what it is told. Every path takes WebSockets.
 */
export class EgressSite {
  /** The `Host` of each request. */
  readonly seen: string[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on("upgrade", (request, socket) => this.#upgrade(request, socket));
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** A URL of the site by this name. */
  at(host: string, path = "/"): string {
    return `http://${host}:${this.port}${path}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.seen.push(request.headers.host ?? "");
    const [path, query = ""] = (request.url ?? "").split("?");
    const other = decodeURIComponent(query);
    response.setHeader("access-control-allow-origin", "*");
    if (path === "/to") return void response.writeHead(302, { location: other }).end();
    response.setHeader("content-type", path === "/worker.js" ? "text/javascript" : "text/html");
    if (path === "/worker.js") return void response.end(WORKER);
    response.end(path === "/frame" ? `<iframe src="${other}"></iframe>` : "<title>here</title>");
  }

  #upgrade(request: IncomingMessage, socket: Duplex): void {
    this.seen.push(request.headers.host ?? "");
    socket.on("error", () => socket.destroy());
    const key = `${request.headers["sec-websocket-key"]}${HANDSHAKE}`;
    const accept = createHash("sha1").update(key).digest("base64");
    socket.write(
      `HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
  }
}

const WORKER = `self.onmessage = async ({ data, ports: [port] }) =>
  port.postMessage(await fetch(data).then((r) => r.status, () => "failed"));
self.onactivate = (event) => event.waitUntil(self.clients.claim());`;
