import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A browser with a window asks for an icon by itself, in its own time. */
const NO_ICON = "<link rel=icon href=data:,>";
const PAGES: Record<string, string> = {
  "/": `${NO_ICON}<title>home</title><h1>hello</h1>`,
  "/files": "<title>files</title><input type=file id=f><a id=d href=/download>download</a>",
  "/popups":
    "<title>popups</title><script>function burst(n){for(let i=0;i<n;i++)window.open('/?'+i)}</script>",
};

/** A site on loopback, which a browser reaches only when it is let through. */
export class Site {
  readonly seen: string[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const path = (request.url ?? "").split("?")[0] ?? "";
      this.seen.push(path);
      if (path === "/download") {
        response.setHeader("content-disposition", "attachment; filename=f.txt");
        response.end("what was downloaded");
        return;
      }
      response.setHeader("content-type", "text/html");
      response.end(PAGES[path] ?? "<title>other</title>");
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
