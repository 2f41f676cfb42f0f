import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const PAGE = `<!doctype html><title>Bench</title><style>p { color: teal }</style>
<h1>Bench</h1><p>A page with a little text, a style and a script.</p>
<form><input name="q"><button>Go</button></form><script>document.title = "Bench, loaded";</script>`;

const MIB = 1024 * 1024;

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://site.invalid");
  if (pathname === "/bulk") {
    response.end(Buffer.alloc(Number(searchParams.get("mib")) * MIB));
    return;
  }
  response.writeHead(pathname === "/" ? 200 : 404, { "content-type": "text/html" });
  response.end(pathname === "/" ? PAGE : "");
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
process.send?.({ type: "ready", url: `http://127.0.0.1:${port}/` });
