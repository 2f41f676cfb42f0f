import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const WORDS = "<p>The quick brown fox jumps over the lazy dog, and over the next one.</p>".repeat(
  20,
);
const PAGES: Record<string, string> = {
  /** Changes twenty times a second. */
  "/moving": `<title>Moving</title><h1 id=n>0</h1>${WORDS}<script>
    let count = 0; setInterval(() => (n.textContent = ++count), 50)</script>`,
  /** Changes by a key, and by nothing else. */
  "/keys": `<title>Keys</title><h1 id=n>0</h1>${WORDS}<script>
    let count = 0; addEventListener("keydown", () => (n.textContent = ++count))</script>`,
};

/** A site with pages to watch. */
export async function startPagesToWatch() {
  const server = createServer(({ url = "" }, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(`<!doctype html>${PAGES[url] ?? ""}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${address}/`, address, close: () => server.close() };
}
