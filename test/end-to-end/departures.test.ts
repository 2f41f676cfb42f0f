import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeVmMode } from "../support/fakes/vm-host.ts";
import { VmGateway } from "../support/process/vm-gateway.ts";

let it: VmGateway;

beforeAll(async () => {
  it = await VmGateway.start();
});
afterAll(() => it?.close());

/** Sends a command that hangs, and answers the connection once its host has it. */
async function exec(body: object): Promise<Socket> {
  it.host.mode = FakeVmMode.parse({ exec: "hang" });
  const began = once(it.host.events, "exec");
  const socket = connect(Number(it.gateway.url.port), it.gateway.url.hostname);
  socket.on("error", () => socket.destroy());
  const text = JSON.stringify(body);
  const head = [
    `POST /sandboxes/${it.id}/exec HTTP/1.1`,
    `Host: ${it.gateway.url.host}`,
    `Authorization: Bearer ${it.key}`,
    `Content-Length: ${text.length}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${text}`);
  await began;
  return socket;
}

// A client that only closes its side looks to workerd like one that still waits for its answer: it is seen to
// have gone once its connection is reset. Before the service in the cloud this is the edge's to tell.
test.each([
  ["without a budget", {}],
  ["with one of an hour", { timeoutMs: 3_600_000 }],
])("a command %s whose client goes away is cut at its host", async (_name, limits) => {
  const cut = once(it.host.events, "exec cut");
  const socket = await exec({ cmd: "sleep", args: ["1000"], ...limits });
  socket.resetAndDestroy();
  expect(await cut).toEqual([it.id]);
  // The sandbox is as it was.
  it.host.mode = FakeVmMode.parse({});
  expect((await it.call(`/sandboxes/${it.id}/metrics`)).status).toBe(200);
});

test("another command of the same sandbox is not cut with it", async () => {
  const sockets = [await exec({ cmd: "a" }), await exec({ cmd: "b" })];
  let cuts = 0;
  it.host.events.on("exec cut", () => (cuts += 1));
  const cut = once(it.host.events, "exec cut");
  sockets[0]?.resetAndDestroy();
  await cut;
  // A whole answer later it is still but the one.
  expect((await it.call(`/sandboxes/${it.id}/metrics`)).status).toBe(200);
  expect(cuts).toBe(1);
  const other = once(it.host.events, "exec cut");
  sockets[1]?.resetAndDestroy();
  await other;
});
