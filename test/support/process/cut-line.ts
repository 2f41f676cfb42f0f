import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

/** A line to a gateway that can be cut: to the gateway, the clients on it are gone without a word. */
export class CutLine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open({ hostname, port }: URL): Promise<CutLine> {
    const server = createServer((client) => {
      const gateway = connect(Number(port), hostname);
      for (const socket of [client, gateway]) {
        line.#sockets.add(socket);
        socket.once("close", () => line.#sockets.delete(socket));
        socket.on("error", () => socket.destroy());
      }
      client.pipe(gateway).pipe(client);
    });
    const line = new CutLine(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return line;
  }

  /** The URL of an endpoint by way of the line. */
  through(endpoint: string): string {
    const url = new URL(endpoint);
    const { port } = this.#server.address() as AddressInfo;
    url.host = `127.0.0.1:${port}`;
    return url.href;
  }

  /** Cuts all connections; new ones can be made. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
