import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";

/** An origin that answers every request with these bytes, or does something else to the connection. */
export class OddOrigin {
  /** What each connection has sent. */
  readonly heard: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(answer: (socket: Socket) => void) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      const index = this.heard.push("") - 1;
      socket.on("error", () => socket.destroy());
      socket.on("data", (chunk) => {
        this.heard[index] += chunk.toString("latin1");
        if (this.heard[index]?.includes("\r\n\r\n")) answer(socket);
      });
    });
  }

  static async start(answer: string | ((socket: Socket) => void)): Promise<OddOrigin> {
    const made = new OddOrigin(
      typeof answer === "string" ? (socket) => void socket.end(answer) : answer,
    );
    made.#server.listen(0, "127.0.0.1");
    await once(made.#server, "listening");
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

/** A response with a short body. */
export function response(status: string, body: string, headers: string[] = []): string {
  const all = ["content-type: text/html", `content-length: ${body.length}`, ...headers];
  return `HTTP/1.1 ${status}\r\n${all.join("\r\n")}\r\nconnection: close\r\n\r\n${body}`;
}
