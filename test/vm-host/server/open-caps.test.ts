import { once } from "node:events";
import { createServer, get, type Server } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Ending } from "../../../vm-host/machines/ending.ts";
import { Places } from "../../../vm-host/machines/places.ts";
import type { Vm } from "../../../vm-host/machines/vm.ts";
import { openControl } from "../../../vm-host/server/control.ts";
import { forwardRequest, forwardUpgrade } from "../../../vm-host/server/ports.ts";

const MIB = 1024 * 1024;

let front: Server;

let inside: Server;

/** Of a machine: what its customers reach. */
let vm: Vm;

let receivers: Receiver[] = [];

/** What has ended the machine. */
let ending: Ending | null = null;

beforeEach(async () => {
  // Answers nothing.
  inside = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(inside, "listening");
  const wire = { sendText() {}, sendBinary() {}, close() {}, whenWritable: () => null };
  vm = {
    sockets: new Set(),
    previews: new Places(LIMITS.machinePreviews),
    previewSockets: new Set(),
    ending: async () => ending,
    touch: () => {},
    begin: () => () => {},
    guest: {
      open: (receive: (wire: Wire) => Receiver) => {
        receivers.push(receive(wire));
        return { close() {} };
      },
      dial: async () => {
        const socket = connect((inside.address() as AddressInfo).port, "127.0.0.1");
        await once(socket, "connect");
        return socket;
      },
    },
  } as unknown as Vm;
  receivers = [];
  ending = null;
  const vms = { get: () => vm };
  const store = { pausedRecordOf: () => undefined };
  front = createServer((request, response) => {
    void forwardRequest({ vms, store, id: "m", rest: "ports/3000/", request, response });
  });
  front.on("upgrade", (request, socket, head) => {
    if (!(socket instanceof Socket)) return;
    if (request.url === "/control") void openControl(vm, request, socket, head);
    else void forwardUpgrade(vm, "ports/3000/", request, socket, head);
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
});
afterEach(() => {
  for (const server of [front, inside]) {
    server.closeAllConnections();
    server.close();
  }
});

const url = (scheme: string, path: string): string =>
  `${scheme}://127.0.0.1:${(front.address() as AddressInfo).port}${path}`;

/** Opens a socket: its end, and the status when it is refused. */
async function open(path: string): Promise<{ socket: WebSocket; status: number }> {
  const socket = new WebSocket(url("ws", path));
  socket.on("error", () => undefined);
  const refused = once(socket, "unexpected-response").then(([, answer]) => {
    const { statusCode = 0 } = answer as { statusCode?: number };
    socket.terminate();
    return statusCode;
  });
  return { socket, status: await Promise.race([refused, once(socket, "open").then(() => 101)]) };
}

describe("control sockets of a machine", () => {
  test("are 64 at most; one that has closed makes room", async () => {
    const all = await Promise.all(
      Array.from({ length: LIMITS.machineControlSockets }, () => open("/control")),
    );
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 101));
    expect((await open("/control")).status).toBe(429);
    all[0]?.socket.close();
    await expect.poll(() => vm.sockets.size).toBe(LIMITS.machineControlSockets - 1);
    expect((await open("/control")).status).toBe(101);
  });

  test("that do not read hold 64 MiB together: the slowest is cut, and no other", async () => {
    const sockets = await Promise.all(Array.from({ length: 5 }, () => open("/control")));
    for (const { socket } of sockets.slice(0, 4)) socket.pause();
    const text = Buffer.alloc(MIB, 0x61);
    const waiting = () => [...vm.sockets].reduce((sum, socket) => sum + socket.waitingBytes, 0);
    const most: number[] = [];
    for (let sent = 0; sent < 64; sent += 1) {
      // The first reads least of all.
      for (const at of [0, 0, 1, 2, 3]) receivers[at]?.text(text);
      await setImmediate();
      most.push(waiting());
    }
    expect(Math.max(...most)).toBeLessThanOrEqual(LIMITS.machineHeldBytes + 5 * MIB);
    expect(vm.sockets.size).toBeGreaterThanOrEqual(1);
    const [quick] = sockets.slice(4);
    if (!quick) throw new Error("no socket");
    const heard = once(quick.socket, "message");
    receivers[4]?.text(Buffer.from("for the quick one"));
    expect(String((await heard)[0])).toBe("for the quick one");
  });
});

describe("a control socket is closed", () => {
  /** The code and the reason that its client sees. */
  async function closing(socket: WebSocket): Promise<[number, string]> {
    const [code, reason] = await once(socket, "close");
    return [Number(code), String(reason)];
  }
  const header = (channel: number): Buffer => Buffer.from([0, 0, 0, 1, channel]);

  test.each([
    ["a text above 1 MiB", Buffer.alloc(MIB + 1, 0x61).toString(), 4413, "1 MiB"],
    ["a text of 8 MiB", Buffer.alloc(8 * MIB, 0x61).toString(), 4413, "1 MiB"],
    [
      "a binary message above 64 KiB",
      Buffer.concat([header(0), Buffer.alloc(65_537)]),
      4413,
      "64 KiB",
    ],
    ["a binary message above 1 MiB", Buffer.alloc(5 * MIB), 4413, "1 MiB"],
    ["a binary message without a stream", Buffer.alloc(3), 1002, "no stream"],
    ["an empty binary message", Buffer.alloc(0), 1002, "no stream"],
    ["a channel that there is not", header(9), 1002, "channel"],
  ])("after %s with the code that says so", async (_name, message, code, words) => {
    const { socket } = await open("/control");
    socket.send(message);
    const [got, reason] = await closing(socket);
    expect([got, reason]).toEqual([code, expect.stringContaining(words)]);
  });

  test("after a text that is not UTF-8, and after a frame of an unknown kind", async () => {
    for (const [bytes, code] of [
      [Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff]), 1007],
      [Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
    ] as const) {
      const { socket } = await open("/control");
      rawOf(socket).write(bytes);
      const [got, reason] = await closing(socket);
      expect([got, reason === ""]).toEqual([code, false]);
    }
  });

  test("with 1012 when the agent begins anew, and with 1002 when the agent refuses what its client sent", async () => {
    const [first, second] = [await open("/control"), await open("/control")];
    receivers[0]?.closed("a new life of the port began");
    expect(await closing(first.socket)).toEqual([1012, "a new life of the port began"]);
    receivers[1]?.closed("more bytes than the credit of the stream", true);
    expect(await closing(second.socket)).toEqual([
      1002,
      "more bytes than the credit of the stream",
    ]);
  });
});

/** The connection under a client, for bytes that no client sends. */
function rawOf(socket: WebSocket): Socket {
  const raw: unknown = Reflect.get(socket, "_socket");
  if (!(raw instanceof Socket)) throw new Error("no connection");
  return raw;
}

describe("previews of a machine", () => {
  test("are 256 requests and sockets at most; one that has ended makes room", async () => {
    const reached = new Promise<void>((resolve) => {
      let count = 0;
      inside.on("request", () => {
        count += 1;
        if (count === LIMITS.machinePreviews) resolve();
      });
    });
    const asked = Array.from({ length: LIMITS.machinePreviews }, () => {
      const request = get(url("http", "/"), { agent: false });
      request.on("error", () => undefined);
      return request;
    });
    await reached;
    /** The status that a request is answered with; 0 when it reaches the server inside, which never answers. */
    const ask = async (): Promise<number> => {
      const request = get(url("http", "/"), { agent: false });
      request.on("error", () => undefined);
      const answered = once(request, "response").then(([{ statusCode }]) => Number(statusCode));
      return Promise.race([answered, once(inside, "request").then(() => 0)]);
    };
    expect(await ask()).toBe(429);
    expect((await open("/")).status).toBe(429);
    asked[0]?.destroy();
    await expect.poll(ask).toBe(0);
    expect(await ask()).toBe(429);
  });
});
