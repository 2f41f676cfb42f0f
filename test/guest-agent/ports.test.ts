import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, type Server, createServer } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { AgentRig, Output } from "./rig.ts";

let rig: AgentRig;
let server: Server | null = null;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());
afterEach(() => void server?.close());

/** A port that no server of another test has on the other loopback: there it would answer in place of ours. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "::");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

async function listen(made: Server, host = "127.0.0.1"): Promise<number> {
  server = made;
  made.listen(await freePort(), host);
  await once(made, "listening");
  return (made.address() as AddressInfo).port;
}

function dial(port: number, output = new Output(), signal?: AbortSignal) {
  const more = signal ? { signal } : {};
  const call = rig.bulk.host.call("ports.dial", { port }, { onBytes: output.onBytes, ...more });
  const connected = rig.bulk.hears(
    ({ method, params }) => method === "ports.connected" && params["id"] === call.id,
  );
  return { ...call, output, connected };
}

test.each(["127.0.0.1", "::1"])(
  "a port on %s is reached, both ways, to both ends",
  async (host) => {
    const echo = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => socket.destroy());
      socket.write("hello ");
      socket.pipe(socket);
    });
    const { connected, stream, result, output } = dial(await listen(echo, host));
    await connected;
    const bytes = randomBytes(5_000_000);
    await stream.write(0, bytes);
    stream.end(0);
    expect(await result).toEqual({ sentBytes: bytes.length, receivedBytes: bytes.length + 6 });
    expect(output.stdout.subarray(6).equals(bytes)).toBe(true);
  },
);

test("a port that nobody listens on is ConnectionRefused", async () => {
  const port = await listen(createServer());
  server?.close();
  await expect(dial(port).result).rejects.toMatchObject({
    data: { code: "ConnectionRefused", retryable: true },
  });
});

test("an end of one side leaves the other one open", async () => {
  const late = createServer({ allowHalfOpen: true }, (socket) => {
    socket.end("all I say");
    const heard: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => heard.push(chunk));
    socket.on("end", () => late.emit("heard", Buffer.concat(heard).toString()));
  });
  const heard = once(late, "heard");
  const { stream, result, output, connected } = dial(await listen(late));
  await connected;
  while (output.bytes < 9) await new Promise(setImmediate);
  await stream.write(0, Buffer.from("afterwards"));
  stream.end(0);
  await result;
  expect(await heard).toEqual(["afterwards"]);
});

test("cancel closes the connection, a reset ends the request", async () => {
  const closed = Promise.withResolvers<void>();
  const holder = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("close", () => closed.resolve());
    socket.on("data", () => socket.resetAndDestroy());
  });
  const port = await listen(holder);
  const abort = new AbortController();
  const first = dial(port, new Output(), abort.signal);
  await first.connected;
  abort.abort();
  await expect(first.result).rejects.toMatchObject({ code: -32_800 });
  await closed.promise;
  const second = dial(port);
  await second.stream.write(0, Buffer.from("x"));
  expect(await second.result).toMatchObject({ receivedBytes: 0 });
});

test("memory and disk are told", async () => {
  const metrics = await rig.control.host.ask("metrics.read", {});
  expect(metrics.memBytes).toBeGreaterThan(0);
  expect(metrics.memTotalBytes).toBeGreaterThan(metrics.memBytes);
  expect(metrics.diskTotalBytes).toBeGreaterThan(metrics.diskBytes);
});
