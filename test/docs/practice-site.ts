import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The sites that the guides visit, as a server on this machine: tests reach no other. */
export interface PracticeSite {
  origin: string;
  /** host:port, as SVC_EGRESS_ALLOW wants it. */
  address: string;
  close(): void;
}

const QUOTES_A_PAGE = 10;
const SESSION = "session=reader";
const EXAMPLE = "<!doctype html><title>Example Domain</title><h1>Example Domain</h1>";
const LOGIN = `<!doctype html><title>Quotes to Scrape</title>
<form method="post" action="/login">
<label for="username">Username</label><input type="text" id="username" name="username">
<label for="password">Password</label><input type="password" id="password" name="password">
<input type="submit" value="Login"></form>`;

/** A page of quotes: the number is the path's. */
function quotes({ url = "/", headers }: IncomingMessage): string {
  const number = Number(/^\/page\/(\d+)\//.exec(url)?.[1] ?? 1);
  const isKnown = headers.cookie?.includes(SESSION);
  const link = isKnown ? `<a href="/logout">Logout</a>` : `<a href="/login">Login</a>`;
  const items = Array.from(
    { length: QUOTES_A_PAGE },
    (_, n) => `<div class="quote"><span class="text">“Quote ${number}.${n}”</span></div>`,
  );
  return `<!doctype html><title>Quotes to Scrape</title>${link}${items.join("")}
<a href="/page/${number + 1}/">Next <span aria-hidden="true">→</span></a>`;
}

/** Answers as quotes.toscrape.com does, and under /example as example.com. */
export async function startPracticeSite(): Promise<PracticeSite> {
  const server = createServer((request, response) => {
    const { url = "/", method } = request;
    request.resume();
    response.setHeader("content-type", "text/html; charset=utf-8");
    if (url === "/login" && method === "POST")
      return response.writeHead(302, { location: "/", "set-cookie": `${SESSION}; Path=/` }).end();
    if (url === "/login") return response.end(LOGIN);
    response.end(url === "/example" ? EXAMPLE : quotes(request));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin: `http://${address}`,
    address,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
