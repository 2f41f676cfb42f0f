import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { EXIT, HOME } from "./facts.ts";

// A provider's proxy with an address of its own: CONNECT only, any credentials.
const server = createServer((_, response) => response.writeHead(405).end());
server.on("connect", (request, client) => {
  const port = Number(/:(\d+)$/.exec(request.url ?? "")?.[1]);
  const origin = connect({ host: HOME, port, localAddress: EXIT, noDelay: true });
  const end = (): void => {
    client.destroy();
    origin.destroy();
  };
  for (const socket of [client, origin]) socket.on("error", end).on("close", end);
  origin.once("connect", () => {
    client.write("HTTP/1.1 200 OK\r\n\r\n");
    client.pipe(origin).pipe(client);
  });
});
process.on("disconnect", () => process.exit(0));
server.listen(0, HOME);
await once(server, "listening");
const { port } = server.address() as AddressInfo;
process.send?.({ type: "ready", url: `http://${HOME}:${port}` });
