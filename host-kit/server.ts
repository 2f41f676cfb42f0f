import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { Socket } from "node:net";
import { type Log, messageOf } from "./log.ts";
import { replyText } from "./reply.ts";

const KEEP_ALIVE_MS = 65_000;

export interface HostServerOptions {
  /** Answers a request. A rejection is answered 500. */
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Takes an upgrade. A rejection ends its socket. */
  upgrade: (request: IncomingMessage, socket: Socket, head: Buffer) => Promise<void>;
  log: Log;
}

/** The HTTP server of a host, for calls of its gateway. */
export function createHostServer({ answer, upgrade, log }: HostServerOptions): Server {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      log.error({ reason: messageOf(error) }, "request_failed");
      if (response.headersSent) response.destroy();
      else replyText(response, 500, "Internal error\n");
    });
  });
  server.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof Socket)) return;
    // Without a listener an error of a socket that waits here would end the process.
    socket.on("error", () => socket.destroy());
    upgrade(request, socket, head).catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, "upgrade_failed");
      socket.destroy();
    });
  });
  // A placement, a command or a transfer may take longer than Node lets a request take.
  server.requestTimeout = 0;
  // Longer than the gateway keeps a connection: else it may send on one that closes here at that moment.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server;
}

/** Listens and returns the URL. Rejects when the address is taken or not of this host. */
export async function listen(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const name = host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${address.port}`;
}

/** Stops to listen and cuts every connection. */
export function closeServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}
