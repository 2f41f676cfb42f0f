import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connected } from "../../browser-pool/egress/connect.ts";
import { Intake, IntakeBudget } from "../../browser-pool/egress/intake.ts";
import { join } from "../../browser-pool/egress/join.ts";

const NEVER = new AbortController().signal;
const BYTES = 4 * 1024 * 1024;
/** More than may have large buffers. */
const AT_ONCE = 40;

/** What the origin sends to each connection: other bytes to each. */
const sent: string[] = [];
const accepted: Socket[] = [];
let origin: Server;
let relay: Server;
let budget: IntakeBudget;

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

async function listening(server: Server): Promise<Server> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

beforeEach(async () => {
  sent.length = 0;
  accepted.length = 0;
  budget = new IntakeBudget();
  origin = await listening(
    createServer({ allowHalfOpen: true }, (socket) => {
      accepted.push(socket);
      socket.on("error", () => {});
      const bytes = randomBytes(BYTES);
      sent.push(hashOf(bytes));
      socket.write(bytes);
      // Ended by what the client says last.
      socket.on("end", () => socket.end("bye")).resume();
    }),
  );
  relay = await listening(
    createServer({ allowHalfOpen: true }, (client) => {
      client.on("error", () => client.destroy());
      const addresses = [{ address: "127.0.0.1", family: 4 }];
      void connected(addresses, portOf(origin), NEVER, new Intake(budget)).then((socket) =>
        join(client, socket),
      );
    }),
  );
});
afterEach(() => {
  for (const server of [origin, relay]) server.close();
  for (const socket of accepted) socket.destroy();
});

/** Reads all that comes; `slowly`: a little at a time, so that the relay has to wait. */
async function readAll(slowly: boolean): Promise<string> {
  const socket = connect({ port: portOf(relay), host: "127.0.0.1", allowHalfOpen: true });
  const pieces: Buffer[] = [];
  let size = 0;
  socket.on("data", (piece: Buffer) => {
    pieces.push(Buffer.from(piece));
    size += piece.length;
    if (size === BYTES) socket.end("over");
    if (!slowly) return;
    socket.pause();
    setImmediate(() => setImmediate(() => socket.resume()));
  });
  await once(socket, "end");
  const all = Buffer.concat(pieces);
  expect(String(all.subarray(BYTES))).toBe("bye");
  return hashOf(all.subarray(0, BYTES));
}

test("bytes of many connections arrive as they were sent, each at its own pace, and each ends as its origin does", async () => {
  const read = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => readAll(at % 2 === 0)));
  expect(read.toSorted()).toEqual(sent.toSorted());
});

test("a client that reads nothing keeps its origin from sending", async () => {
  const socket = connect({ port: portOf(relay), host: "127.0.0.1" });
  socket.pause();
  await expect.poll(() => accepted.length).toBe(1);
  const [source] = accepted;
  if (!source) throw new Error("no connection");
  const closed = new Promise((resolve) => source.once("close", resolve));
  // More than the system holds for two connections.
  source.write(Buffer.alloc(16 * BYTES));
  let before = -1;
  await expect
    .poll(() => {
      const stands = source.writableLength === before;
      before = source.writableLength;
      return stands;
    })
    .toBe(true);
  expect(source.writableLength).toBeGreaterThan(0);
  socket.destroy();
  await closed;
});

test("an origin that resets its connection resets that of the client", async () => {
  const socket = connect({ port: portOf(relay), host: "127.0.0.1" });
  await once(socket, "data");
  accepted[0]?.resetAndDestroy();
  socket.resume();
  const [error] = await once(socket, "error");
  expect(error).toMatchObject({ code: "ECONNRESET" });
});
