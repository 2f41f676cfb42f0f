import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const LINES = "<p>A line of the kind that pages have, with a <a href=#>link</a> in it.</p>".repeat(
  100,
);
const PAGE = `<!doctype html><title>Counter</title><h1>Counter</h1>
<button id=more onclick="n.textContent = Number(n.textContent) + 1">more</button> <output id=n>0</output>${LINES}`;

/** A page that counts clicks, of some hundred elements. */
export async function startCounter() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(PAGE);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${address}/`, address, close: () => server.close() };
}
