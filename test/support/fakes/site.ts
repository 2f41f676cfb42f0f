import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A page that counts clicks. */
export const COUNTER = `<!doctype html><title>Counter</title><h1>Counter</h1>
<button id="more" onclick="count.textContent = Number(count.textContent) + 1">more</button>
<output id="count">0</output>`;

/** A small web site of a test's own. */
export interface Site {
  url: string;
  /** host:port, as SVC_EGRESS_ALLOW wants it. */
  address: string;
  close(): void;
}

/** `pageOf`: the HTML of a path; one page for all of them unless it is given. */
export async function startSite(pageOf: (path: string) => string = () => COUNTER): Promise<Site> {
  const server = createServer(({ url = "" }, response) => {
    response.setHeader("content-type", "text/html");
    response.end(pageOf(url));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${address}/`,
    address,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
