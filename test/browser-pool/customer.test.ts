import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import WebSocket, { WebSocketServer } from "ws";
import { Customer } from "../../browser-pool/playwright-process/customer.ts";
import type { CustomerEvent } from "../../browser-pool/playwrights/messages.ts";

const MIB = 1024 * 1024;
/** Stands for Playwright's: it answers upgrades that it is handed. */
const inner = createServer();
const sockets = new WebSocketServer({ server: inner, maxPayload: 256 * MIB });
const front = createServer();

interface Seen {
  customer: Customer;
  said: CustomerEvent[];
  /** Called with each, at once. */
  onSaid: (event: CustomerEvent) => void;
}
const customers: Seen[] = [];

beforeAll(async () => {
  front.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof Socket)) throw new Error("no socket");
    const said: CustomerEvent[] = [];
    const say = (event: CustomerEvent): void => {
      said.push(event);
      seen.onSaid(event);
    };
    const customer = new Customer(socket, { say, onEnd: say, onGoodbye: () => {} });
    const seen: Seen = { customer, said, onSaid: () => {} };
    customers.push(seen);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const handover = {
      key: "k",
      client: 1,
      opens: 7,
      path: "/",
      headers,
      head: head.toString("base64"),
    };
    customer.start(inner, handover);
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
});
afterAll(() => {
  for (const client of sockets.clients) client.terminate();
  front.closeAllConnections();
  front.close();
});

async function open() {
  const { port } = front.address() as AddressInfo;
  const connected = once(sockets, "connection");
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { maxPayload: 256 * MIB });
  await once(client, "open");
  const [server] = await connected;
  const made = customers.at(-1);
  if (!(server instanceof WebSocket) || !made) throw new Error("no server");
  return { client, server, customer: made.customer, said: made.said, made };
}

test("a client that closes is clean", async () => {
  const { client, server, said } = await open();
  const closed = once(server, "close");
  client.close(1000, "bye");
  expect(Number((await closed)[0])).toBe(1000);
  await expect.poll(() => said.at(-1)).toBe("clean");
});

test("a client that vanishes is dropped", async () => {
  const { client, server, said } = await open();
  const closed = once(server, "close");
  client.terminate();
  await closed;
  await expect.poll(() => said.at(-1)).toBe("dropped");
});

test("the pool's own close reaches the client with code and reason, and nothing after it", async () => {
  const { client, server, customer } = await open();
  const heard: string[] = [];
  client.on("message", (data: Buffer) => void heard.push(String(data)));
  const closed = once(client, "close");
  server.send("before");
  customer.end(4408, "deadline");
  server.send("after");
  const [code, reason] = await closed;
  expect([code, String(reason)]).toEqual([4408, "deadline"]);
  expect(heard).toEqual(["before"]);
});

test("a message of 20 MiB passes each way whole", async () => {
  const { client, server, said } = await open();
  const payload = Buffer.alloc(20 * MIB, "payload");
  const [up, down] = [once(server, "message"), once(client, "message")];
  client.send(payload);
  server.send(payload);
  for (const [data] of await Promise.all([up, down])) expect(payload.equals(data)).toBe(true);
  expect(said).toContain("active");
  client.close();
});

test("a client whose message is above 96 MiB is told 4413 and counts as dropped", async () => {
  const { client, said } = await open();
  const closed = once(client, "close");
  client.send(Buffer.alloc(96 * MIB + 1));
  expect((await closed)[0]).toBe(4413);
  await expect.poll(() => said.at(-1)).toBe("dropped");
});

test("what fills up for a client that does not read is told, and that it reads again", async () => {
  const { client, server, said, made } = await open();
  made.onSaid = (event) => {
    if (event === "full") client.resume();
  };
  client.pause();
  for (let sent = 0; sent < 3; sent += 1) server.send(Buffer.alloc(40 * MIB));
  await expect.poll(() => said).toEqual(["full", "drained"]);
  client.close();
});

test("a client that takes nothing for the time it has is cut", async () => {
  const { client, server, said } = await open();
  client.pause();
  for (let sent = 0; sent < 3; sent += 1) server.send(Buffer.alloc(40 * MIB));
  await expect.poll(() => said).toEqual(["full", "drained", "dropped"]);
  client.terminate();
});
