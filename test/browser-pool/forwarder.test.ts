import { mkdtemp, rm } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Allowance } from "../../browser-pool/egress/allowance.ts";
import { Forwarder } from "../../browser-pool/egress/forwarder.ts";
import { Site } from "./site.ts";
import { firstLine } from "./socks-client.ts";

let site: Site;
let folder: string;
let forwarder: Forwarder;

beforeAll(async () => {
  site = await new Site().start();
  folder = await mkdtemp(join(tmpdir(), "forwarder-"));
  forwarder = await listening("s");
  forwarder.open();
});
afterAll(async () => {
  forwarder.close();
  site.stop();
  await rm(folder, { recursive: true });
});

/** A forwarder on a socket of this name, which lets the site be reached. */
async function listening(name: string): Promise<Forwarder> {
  const made = new Forwarder(await Allowance.of([{ host: "127.0.0.1", port: site.port }]));
  await made.listen(join(folder, name));
  return made;
}

const NOT_ALLOWED = "HTTP/1.1 403 Forbidden";
const NO_HOST = "4";

/** Asks a forwarder for a target, as it stands in the text: `host:port`. */
function ask(target: string, name = "s"): Promise<string> {
  const [, host = "", port] = /^(.*):(\d+)$/.exec(target) ?? [];
  return firstLine(join(folder, name), host, Number(port));
}

test("nothing is reached before the browser has a session", async () => {
  const fresh = await listening("fresh");
  onTestFinished(() => fresh.close());
  expect(await ask(`127.0.0.1:${site.port}`, "fresh")).toBe(NOT_ALLOWED);
  fresh.open();
  expect(await ask(`127.0.0.1:${site.port}`, "fresh")).toBe("HTTP/1.1 200 OK");
});

// What a browser would have normalised: somebody who took a browser over would not.
test.each([
  "0x7f.1:1",
  "2130706433:1",
  "0177.0.0.1:1",
  "127.1:1",
  "localhost:1",
  "LOCALHOST:1",
  "[::1]:1",
  "[::ffff:127.0.0.1]:1",
  "[::ffff:7f00:1]:1",
  "[0:0:0:0:0:ffff:7f00:1]:1",
  "169.254.169.254:80",
])("%s is refused", async (target) => {
  expect(await ask(target)).toBe(NOT_ALLOWED);
});

test("a name without an address is no host", async () => {
  expect(await ask("no-such-name.invalid:80")).toBe(NO_HOST);
});

test.each([25, 465, 587])("port %i is closed for every target", async (port) => {
  expect(await ask(`1.1.1.1:${port}`)).toBe(NOT_ALLOWED);
});

test("a mail port is opened by its exact pair", async () => {
  const server = createServer((socket) => socket.end("220 ready\r\n")).listen(25, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const made = new Forwarder(await Allowance.of([{ host: "127.0.0.1", port: 25 }]));
  onTestFinished(() => made.close());
  await made.listen(join(folder, "mail"));
  made.open();
  expect(await ask("127.0.0.1:25", "mail")).toBe("220 ready");
  expect(await ask("127.0.0.2:25", "mail")).toBe(NOT_ALLOWED);
});
