import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { HOME, BULK_BYTES } from "./facts.ts";

// A site that blocks who comes from the pool's own address, but for `/bulk`, and its proxy, which leaves by another address.
const bulk = Buffer.alloc(BULK_BYTES, "x");
const server = createServer(({ socket, url }, response) => {
  if (url === "/bulk") return void response.end(bulk);
  response.setHeader("content-type", "text/html");
  if (url === "/open") return void response.end("<title>open</title>");
  const isBlocked = socket.remoteAddress === HOME;
  response.statusCode = isBlocked ? 403 : 200;
  response.end(isBlocked ? "<title>denied</title>" : "<title>welcome</title><h1>welcome</h1>");
});
process.on("disconnect", () => process.exit(0));
server.listen(0, HOME);
await once(server, "listening");
const { port } = server.address() as AddressInfo;
process.send?.({ type: "ready", url: `http://${HOME}:${port}` });
