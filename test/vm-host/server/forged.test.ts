import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, type Server, Socket, connect, createServer } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  FRAME_HEADER_BYTES,
  type FrameKind,
  encodeFrame,
} from "@svc/contract/control-channel/frames.ts";
import { FIRST_SYNC_WORD, answerTo } from "@svc/contract/control-channel/sync-word.ts";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { GuestPort } from "../../../vm-host/guest/port.ts";
import { openControl } from "../../../vm-host/server/control.ts";
import type { Vm } from "../../../vm-host/machines/vm.ts";
import { keptBytes } from "../hostile/bed.ts";

const FORGERIES = 20_000;
const MIB = 1024 * 1024;

/** The same sequence for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

let folder = "";
let server: Server;
let guest: Socket;
let port: GuestPort;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "forged-"));
  server = createServer().listen(join(folder, "port.sock"));
  await once(server, "listening");
  const met = once(server, "connection");
  const socket = connect(join(folder, "port.sock"));
  [guest] = await met;
  port = new GuestPort(socket, { word: FIRST_SYNC_WORD });
  await once(guest, "data");
  guest.resume();
  guest.write(answerTo(FIRST_SYNC_WORD));
});
afterEach(() => {
  guest.destroy();
  server.close();
  rmSync(folder, { recursive: true });
});

/** A guest that has said all this still gets its requests, and its answers are heard. */
async function expectAnswers(): Promise<void> {
  const asked = new Promise<number>((resolve) => {
    guest.on("data", (bytes: Buffer) => {
      const [, id] = /"id":(\d+),"method":"rpc.ping"/.exec(bytes.toString("latin1")) ?? [];
      if (id !== undefined) resolve(Number(id));
    });
  });
  const answer = port.client.ask("rpc.ping", {});
  const id = await asked;
  guest.write(
    encodeFrame(0, "text", Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result: {} }))),
  );
  expect(await answer).toEqual({});
}

function header(bytes: number, connection: number, kind: number): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES);
  frame.writeUInt32BE(bytes, 0);
  frame.writeUInt16BE(connection, 4);
  frame.writeUInt8(kind, 6);
  return frame;
}

test.each([1, 2, 3])("forged frames of seed %i do nothing to the host", async (seed) => {
  const below = random(seed);
  const kinds: FrameKind[] = ["open", "close", "text", "binary"];
  for (let at = 0; at < FORGERIES; at += 1) {
    const payload = randomBytes(below(40));
    const connection = below(4) === 0 ? below(0x1_0000) : below(4);
    const choice = below(4);
    const frame =
      choice === 0
        ? Buffer.concat([header(payload.length, connection, below(256)), payload])
        : choice === 1
          ? forgedCall(below, connection)
          : encodeFrame(connection, kinds[below(4)] ?? "text", payload);
    if (!guest.write(frame)) await once(guest, "drain");
  }
  await expectAnswers();
});

/** Texts that look like answers, credits and notifications, for requests and streams that there may be. */
function forgedCall(below: (limit: number) => number, connection: number): Uint8Array {
  const id = below(8);
  const texts = [
    { jsonrpc: "2.0", id: id + 100, result: { exitCode: 0 } },
    { jsonrpc: "2.0", id: id + 100, error: { code: -32_000, message: "no" } },
    { jsonrpc: "2.0", method: "rpc.credit", params: { stream: id, bytes: below(2 ** 31) } },
    { jsonrpc: "2.0", method: "ports.connected", params: { id } },
    { jsonrpc: "2.0", id, method: "identity.set", params: {} },
    [{ jsonrpc: "2.0", id }],
    { jsonrpc: "1.0" },
  ];
  return encodeFrame(connection, "text", Buffer.from(JSON.stringify(texts[below(texts.length)])));
}

test("a frame of 4 GiB is skipped, not kept, and a new life begins after it", async () => {
  guest.write(header(0xffff_ffff, 1, 2));
  const before = await keptBytes();
  // One block for all: what is measured is what the host keeps, not what this side has yet to give back.
  const block = Buffer.alloc(MIB, 0xaa);
  for (let sent = 0; sent < 256; sent += 1) if (!guest.write(block)) await once(guest, "drain");
  expect((await keptBytes()) - before).toBeLessThan(32 * MIB);
  // An agent that is started again calls; what was half said is forgotten.
  const answered = once(guest, "data");
  guest.write(FIRST_SYNC_WORD);
  const [bytes] = await answered;
  expect(
    Buffer.from(bytes)
      .subarray(0, 32)
      .equals(Buffer.from(answerTo(FIRST_SYNC_WORD))),
  ).toBe(true);
  await expectAnswers();
});

test("bytes for a stream that nobody asked for, and more than its credit, end no other connection", async () => {
  const heard: string[] = [];
  let wire: Wire | null = null;
  const customer = port.open((mine) => {
    wire = mine;
    const receiver: Receiver = {
      text: (payload) => void heard.push(Buffer.from(payload).toString()),
      binary: () => {},
      closed: (reason) => void heard.push(`closed: ${reason}`),
    };
    return receiver;
  });
  expect(customer && wire).not.toBeNull();
  const stream = Buffer.alloc(5 + 64 * 1024);
  stream.writeUInt32BE(7, 0);
  stream.writeUInt8(1, 4);
  for (let sent = 0; sent < 40; sent += 1)
    if (!guest.write(encodeFrame(0, "binary", stream))) await once(guest, "drain");
  guest.write(encodeFrame(1, "text", Buffer.from("still here")));
  await expect.poll(() => heard).toEqual(["still here"]);
  await expectAnswers();
});

test("a client that does not read loses its own socket, and nobody else waits for it", async () => {
  const guestOf = { open: (receive: (wire: Wire) => Receiver) => port.open(receive) };
  // Of a machine only its sockets and its guest count here.
  const vm = { guest: guestOf, sockets: new Set(), touch: () => {} } as unknown as Vm;
  const front = createHttpServer().listen(0, "127.0.0.1");
  front.on("upgrade", (request, socket, head) => {
    if (socket instanceof Socket) void openControl(vm, request, socket, head);
  });
  await once(front, "listening");
  const url = `ws://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const slow = new WebSocket(url);
  await once(slow, "open");
  const quick = new WebSocket(url);
  await once(quick, "open");
  await expect.poll(() => vm.sockets.size).toBe(2);
  slow.pause();
  const text = encodeFrame(1, "text", Buffer.alloc(MIB, 0x61));
  for (let sent = 0; sent < 160 && vm.sockets.size === 2; sent += 1)
    if (!guest.write(text)) await once(guest, "drain");
  await expect.poll(() => vm.sockets.size).toBe(1);
  guest.write(encodeFrame(2, "text", Buffer.from("for the quick one")));
  const [data] = await once(quick, "message");
  expect(String(data)).toBe("for the quick one");
  slow.terminate();
  quick.terminate();
  front.close();
});

test("a port that is reset, as by a machine that is killed, ends in its close", async () => {
  const socket = connect(join(folder, "port.sock"));
  const own = new GuestPort(socket, { word: FIRST_SYNC_WORD });
  const asked = own.client.ask("rpc.ping", {});
  socket.emit("error", new Error("read ECONNRESET"));
  await expect(asked).rejects.toMatchObject({ data: { code: "Disconnected" } });
});
