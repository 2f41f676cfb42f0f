import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BULK_BYTES, HOME } from "./facts.ts";

// A site over TLS, with a certificate of its own making that nobody trusts.
const folder = mkdtempSync(join(tmpdir(), "svc-bench-tls-"));
const [keyPath, certPath] = [join(folder, "key.pem"), join(folder, "cert.pem")];
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
const files = ["-keyout", keyPath, "-out", certPath];
execFileSync(
  "openssl",
  ["req", "-x509", ...newKey, ...files, "-subj", "/CN=localhost", "-days", "2"],
  { stdio: "ignore" },
);
const identity = { key: readFileSync(keyPath), cert: readFileSync(certPath) };
rmSync(folder, { recursive: true });
const bulk = Buffer.alloc(BULK_BYTES, "x");
const server = createServer(identity, ({ url }, response) => {
  response.end(url === "/bulk" ? bulk : "<title>open</title>");
});
process.on("disconnect", () => process.exit(0));
server.listen(0, HOME);
await once(server, "listening");
const { port } = server.address() as AddressInfo;
process.send?.({ type: "ready", url: `https://${HOME}:${port}` });
