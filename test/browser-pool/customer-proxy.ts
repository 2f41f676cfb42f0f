import { once } from "node:events";
import { type RequestListener, type Server, createServer, request } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { Identity } from "../support/process/certificates.ts";

/** A customer's own proxy, with a name and a password: `me` and `secret`. */
export class CustomerProxy {
  readonly asked: string[] = [];
  readonly #server: Server;

  /** `identity`: the proxy is spoken to over TLS, and proves to be this. */
  constructor(identity: Identity | null = null) {
    const serve: RequestListener = (incoming, response) => {
      if (!this.#isKnown(incoming.headers["proxy-authorization"])) {
        response.writeHead(407, { "proxy-authenticate": 'Basic realm="x"' }).end("who?");
        return;
      }
      this.asked.push(incoming.url ?? "");
      const onward = request(incoming.url ?? "", { agent: false }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      onward.on("error", () => response.destroy()).end();
    };
    this.#server = identity ? createTlsServer(identity, serve) : createServer(serve);
    this.#server.on("connect", (incoming, socket) => {
      if (!this.#isKnown(incoming.headers["proxy-authorization"])) {
        socket.end(
          'HTTP/1.1 407 Who\r\nproxy-authenticate: Basic realm="x"\r\ncontent-length: 0\r\n\r\n',
        );
        return;
      }
      const [host = "", port] = (incoming.url ?? "").split(":");
      this.asked.push(incoming.url ?? "");
      const onward = connect(Number(port), host, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(onward).pipe(socket);
      });
      onward.on("error", () => socket.destroy());
      socket.on("error", () => onward.destroy());
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #isKnown(header: string | undefined): boolean {
    return header === `Basic ${Buffer.from("me:secret").toString("base64")}`;
  }
}
