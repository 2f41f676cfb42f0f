import { mkdtemp, rm } from "node:fs/promises";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Allowance } from "../../browser-pool/egress/allowance.ts";
import { Forwarder, MAX_CONNECTIONS } from "../../browser-pool/egress/forwarder.ts";
import { OddOrigin } from "./odd-origins.ts";
import { Site } from "./site.ts";
import { askSocks, firstLine } from "./socks-client.ts";

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

test("an origin that resets ends its own connection and nothing else", async () => {
  const origin = await OddOrigin.start((socket) => void socket.resetAndDestroy());
  onTestFinished(() => origin.stop());
  const made = new Forwarder(await Allowance.of([{ host: "127.0.0.1", port: origin.port }]));
  onTestFinished(() => made.close());
  await made.listen(join(folder, "reset"));
  made.open();
  const { reply, socket } = await askSocks(join(folder, "reset"), "127.0.0.1", origin.port);
  expect(reply).toBe(0);
  const ended = once(socket, "close");
  socket.resume().write("GET / HTTP/1.1\r\n\r\n");
  await ended;
  expect(await ask(`10.0.0.1:80`, "reset")).toBe(NOT_ALLOWED);
});

test("a client whose words come byte by byte, or only half, keeps nobody waiting", async () => {
  const half = connect(join(folder, "s"));
  onTestFinished(() => void half.destroy());
  half.write(Buffer.from([5]));
  const slow = connect(join(folder, "s"));
  onTestFinished(() => void slow.destroy());
  const name = Buffer.from("127.0.0.1");
  const target = [5, 1, 0, 3, name.length, ...name, site.port >> 8, site.port & 255];
  const heard: Buffer[] = [];
  slow.on("data", (bytes: Buffer) => heard.push(bytes));
  for (const byte of [5, 1, 0, ...target]) {
    slow.write(Buffer.from([byte]));
    expect(await ask(`127.0.0.1:${site.port}`)).toBe("HTTP/1.1 200 OK");
  }
  await expect.poll(() => Buffer.concat(heard).toString("hex")).toMatch(/^05000500/);
});

test("a refused connection that a browser keeps is closed when the allowed domains are others", async () => {
  const made = await listening("kept");
  onTestFinished(() => made.close());
  made.confine(["other.test"]);
  made.open();
  const { reply, socket } = await askSocks(join(folder, "kept"), "127.0.0.1", site.port);
  expect(reply).toBe(0);
  socket.resume();
  made.confine([]);
  await once(socket, "close");
  expect(await ask(`127.0.0.1:${site.port}`, "kept")).toBe("HTTP/1.1 200 OK");
});

test("a client that leaves in the middle of its words is let go", async () => {
  for (const words of [[5], [5, 1], [5, 1, 0, 5, 1], [0, 1], [0, 0, 9, 104]]) {
    const socket = connect(join(folder, "s")).resume();
    socket.end(Buffer.from(words));
    await once(socket, "close");
  }
  expect(await ask(`127.0.0.1:${site.port}`)).toBe("HTTP/1.1 200 OK");
});

test("a client that says nothing, or something else, is let go", async () => {
  const socket = connect(join(folder, "s"));
  const ended = once(socket, "close");
  socket.resume().write("GET / HTTP/1.1\r\n\r\n");
  await ended;
  expect(await ask(`127.0.0.1:${site.port}`)).toBe("HTTP/1.1 200 OK");
});

test("connections beyond the cap are refused, and the others go on", async () => {
  const made = await listening("many");
  onTestFinished(() => made.close());
  made.open();
  const path = join(folder, "many");
  const open = await Promise.all(
    Array.from({ length: MAX_CONNECTIONS }, () => askSocks(path, "127.0.0.1", site.port)),
  );
  expect(await ask(`127.0.0.1:${site.port}`, "many")).toBe(NOT_ALLOWED);
  for (const { socket } of open.slice(1)) socket.destroy();
  const [first] = open;
  first?.socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const heard = first && once(first.socket, "data");
  first?.socket.resume();
  expect(String(await heard)).toContain("200 OK");
});
