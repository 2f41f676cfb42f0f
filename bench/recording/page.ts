import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

const ROWS = 600;
/** Five elements a row: 3,000 nodes that are elements. */
const ROW = (at: number): string =>
  `<tr class="row"><td>${at}</td><td><a href="/item/${at}">item ${at}</a></td><td>text ${at}</td></tr>`;

/** A site of one page of 3,000 nodes. */
export async function startPageOfRows() {
  const rows = Array.from({ length: ROWS }, (_, at) => ROW(at)).join("");
  const page = `<!doctype html><title>rows</title><style>.row { color: #333 }</style><table>${rows}</table>`;
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${address}/`, address, close: () => server.close() };
}
