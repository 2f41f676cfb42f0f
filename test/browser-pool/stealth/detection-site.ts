import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import * as z from "zod";
import { FACTS } from "./facts-script.ts";
import { PROBES } from "./probes-script.ts";
import { ROWS } from "./rows-script.ts";

const Rows = z.array(
  z.object({ check: z.string(), seen: z.string(), ok: z.boolean(), isCovered: z.boolean() }),
);

/** One row of the table: a thing that the page looks at, and the finding. */
export type Row = z.infer<typeof Rows>[number];

const html = (script: string): string =>
  `<!doctype html><meta charset="utf-8"><title>detection</title><body><script>${script}</script>`;

/** The type and the text of each path. */
const FILES: Record<string, readonly [string, string]> = {
  "/": ["text/html", html(FACTS + PROBES + ROWS)],
  "/frame": ["text/html", html(`${FACTS}allFacts().then((all) => parent.postMessage(all, "*"))`)],
  "/worker.js": ["text/javascript", `${FACTS}allFacts().then((all) => postMessage(all))`],
  "/nesting.js": [
    "text/javascript",
    `new Worker("/worker.js").onmessage = ({ data }) => postMessage(data)`,
  ],
  "/shared.js": [
    "text/javascript",
    `${FACTS}onconnect = ({ ports: [port] }) => allFacts().then((all) => port.postMessage(all))`,
  ],
  "/service.js": [
    "text/javascript",
    `${FACTS}onmessage = ({ ports: [port] }) => allFacts().then((all) => port.postMessage(all))`,
  ],
};

/** A page that looks for marks of a driven browser, on loopback. The page finds out all by itself: whoever drives it only opens it. */
export class DetectionSite {
  readonly #server: Server;
  #found = Promise.withResolvers<Row[]>();
  #requests: { path: string; agent: unknown; brands: unknown; languages: unknown }[] = [];

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<DetectionSite> {
    const site = new DetectionSite();
    site.#server.listen(0, "127.0.0.1");
    await once(site.#server, "listening");
    return site;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the site is closed");
    return address.port;
  }

  get url(): string {
    return `http://localhost:${this.port}/`;
  }

  /** Forgets all requests and waits for the next page that is opened. Resolves to what the page has found. */
  visit(): Promise<Row[]> {
    this.#requests = [];
    this.#found = Promise.withResolvers<Row[]>();
    return this.#found.promise;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const { headers } = request;
    this.#requests.push({
      path: pathname,
      agent: headers["user-agent"],
      brands: headers["sec-ch-ua"],
      languages: headers["accept-language"],
    });
    if (request.method === "POST") this.#found.resolve(Rows.parse(await json(request)));
    const dynamic: Record<string, unknown> = { "/echo": headers, "/requests": this.#requests };
    const [type, text] = FILES[pathname] ?? [
      "application/json",
      JSON.stringify(dynamic[pathname] ?? {}),
    ];
    response.setHeader("content-type", type);
    response.end(text);
  }
}
