import { once } from "node:events";
import { IncomingMessage, createServer } from "node:http";
import { type AddressInfo, Socket, connect } from "node:net";
import { Relay, type SocketEnd } from "@svc/host-kit/relay.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import WebSocket, { WebSocketServer } from "ws";

const MIB = 1024 * 1024;
const upstream = createServer();
const sockets = new WebSocketServer({ server: upstream, maxPayload: 256 * MIB });
const front = createServer();
const relays: Relay[] = [];
const ends: Promise<SocketEnd>[] = [];
/** The connections to the upstream, in their order. */
const behinds: Socket[] = [];
const held = { count: 0, most: 0 };
/** How long the next client may take nothing: longer than a busy machine takes to let it, unless a test is about that. */
let stallMs = 600_000;

/** A front that relays every upgrade, by raw sockets as the pool does. */
function relayed(request: IncomingMessage, client: unknown, head: Buffer): void {
  if (!(client instanceof Socket)) throw new Error("no socket");
  const { port } = upstream.address() as AddressInfo;
  const behind = connect(port, "127.0.0.1");
  behinds.push(behind);
  const { "sec-websocket-extensions": _none, ...headers } = request.headers;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
  behind.write(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  behind.once("data", (answer: Buffer) => {
    const cut = answer.indexOf("\r\n\r\n") + 4;
    client.write(answer.subarray(0, cut));
    ends.push(
      new Promise((onEnd) => {
        const hold = (): void => void (held.most = Math.max(held.most, ++held.count));
        const source = { hold, release: () => void (held.count -= 1) };
        const relay = new Relay({
          client,
          upstream: behind,
          source,
          stallMs,
          onTraffic: () => {},
          onEnd,
        });
        relays.push(relay);
        relay.start(head, answer.subarray(cut));
      }),
    );
  });
}

beforeAll(async () => {
  front.on("upgrade", relayed);
  upstream.listen(0, "127.0.0.1");
  front.listen(0, "127.0.0.1");
  await Promise.all([once(upstream, "listening"), once(front, "listening")]);
});
afterAll(() => {
  for (const client of sockets.clients) client.terminate();
  front.closeAllConnections();
  front.close();
  upstream.close();
});

interface Pair {
  client: WebSocket;
  server: WebSocket;
  /** The server's own end of its connection, for bytes of no whole frame. */
  wire: Socket;
  /** The relay's end of the same. */
  behind: Socket;
  relay: Relay;
  end: Promise<SocketEnd>;
}

async function open(): Promise<Pair> {
  const { port } = front.address() as AddressInfo;
  const connected = once(sockets, "connection");
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { maxPayload: 256 * MIB });
  await once(client, "open");
  const [server, request] = await connected;
  const relay = relays.at(-1);
  const end = ends.at(-1);
  const behind = behinds.at(-1);
  if (!(server instanceof WebSocket) || !(request instanceof IncomingMessage))
    throw new Error("no server");
  if (!relay || !end || !behind) throw new Error("no relay");
  return { client, server, wire: request.socket, behind, relay, end };
}

test("a client that closes is clean", async () => {
  const { client, server, end } = await open();
  const closed = once(server, "close");
  client.close(1000, "bye");
  expect(await end).toBe("clean");
  expect(Number((await closed)[0])).toBe(1000);
});

test("a client that vanishes is dropped", async () => {
  const { client, server, end } = await open();
  const closed = once(server, "close");
  client.terminate();
  expect(await end).toBe("dropped");
  await closed;
});

test("the host's own close reaches the client with code and reason", async () => {
  const { client, relay } = await open();
  relay.end(4408, "deadline");
  const [code, reason] = await once(client, "close");
  expect([code, String(reason)]).toEqual([4408, "deadline"]);
});

test("the host's own close waits for the end of a frame that is on its way", async () => {
  const { client, wire, behind, relay } = await open();
  const messages: string[] = [];
  client.on("message", (data: Buffer) => void messages.push(String(data)));
  const closed = once(client, "close");
  const [before, part] = [behind.bytesRead, Buffer.from("\u0081\u0009half", "latin1")];
  wire.write(part);
  await expect.poll(() => behind.bytesRead).toBe(before + part.length);
  relay.end(4404, "gone");
  wire.write(Buffer.from("\u0020full\u0081\u0006cutoff", "latin1"));
  expect((await closed)[0]).toBe(4404);
  expect(messages).toEqual(["half full"]);
});

test("a message of 20 MiB passes each way whole", async () => {
  const { client, server } = await open();
  const payload = Buffer.alloc(20 * MIB, "payload");
  const [up, down] = [once(server, "message"), once(client, "message")];
  client.send(payload);
  server.send(payload);
  for (const [data] of await Promise.all([up, down])) expect(payload.equals(data)).toBe(true);
  client.close();
});

test("the source of a client that does not read is held, and let go when it reads again", async () => {
  held.most = 0;
  const { client, server } = await open();
  client.pause();
  const message = Buffer.alloc(40 * MIB);
  for (let sent = 0; sent < 3; sent += 1) server.send(message);
  await expect.poll(() => held.count).toBe(1);
  client.resume();
  await expect.poll(() => held.count).toBe(0);
  client.close();
});

test("a client that takes nothing for the time it has is cut", async () => {
  const patience = stallMs;
  stallMs = 1_000;
  onTestFinished(() => void (stallMs = patience));
  const { client, server, end } = await open();
  client.pause();
  for (let sent = 0; sent < 3; sent += 1) server.send(Buffer.alloc(40 * MIB));
  expect(await end).toBe("dropped");
  expect(held.count).toBe(0);
  client.terminate();
});
