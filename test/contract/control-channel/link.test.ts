import { encodeBinary } from "@svc/contract/control-channel/binary-frame.ts";
import { encodeFrame } from "@svc/contract/control-channel/frames.ts";
import { Link } from "@svc/contract/control-channel/link.ts";
import { RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import { type Method, RpcServer } from "@svc/contract/control-channel/rpc-server.ts";
import { WINDOW_BYTES } from "@svc/contract/control-channel/stream.ts";
import { FIRST_SYNC_WORD } from "@svc/contract/control-channel/sync-word.ts";
import * as z from "zod";
import { describe, expect, test } from "vitest";

const anything = z.looseObject({});
const SHAPES = {
  echo: { params: anything, result: anything },
  hang: { params: anything, result: anything },
  pour: { params: anything, result: anything },
  sink: { params: anything, result: anything },
} as const;

/** A pipe that hands on at the next turn, in pieces, and counts. */
class Pipe {
  bytes = 0;
  readonly #to: (bytes: Uint8Array) => void;
  #queue: Uint8Array[] = [];
  constructor(to: (bytes: Uint8Array) => void) {
    this.#to = to;
  }
  readonly transport = {
    write: (bytes: Uint8Array) => {
      this.bytes += bytes.length;
      this.#queue.push(bytes);
      if (this.#queue.length === 1) setImmediate(() => this.#flush());
    },
    whenWritable: () => null,
  };
  #flush(): void {
    const all = Buffer.concat(this.#queue);
    this.#queue = [];
    for (let at = 0; at < all.length; at += 1_000)
      this.#to(Uint8Array.from(all.subarray(at, at + 1_000)));
  }
}

const METHODS = new Map<string, Method>([
  ["echo", { run: async (params) => Object(params) }],
  [
    "hang",
    {
      run: (_params, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        ),
    },
  ],
  [
    "pour",
    {
      run: async (_params, { stream }) => {
        await stream.write(1, new Uint8Array(3 * WINDOW_BYTES));
        return {};
      },
    },
  ],
  [
    "sink",
    {
      run: (_params, { stream }) =>
        new Promise((resolve) => {
          let bytes = 0;
          stream.onBytes((_channel, part) => {
            bytes += part.length;
            if (part.length === 0) resolve({ bytes });
          });
        }),
    },
  ],
]);

/** A host and a guest joined by two pipes. */
function pair() {
  const ends: string[] = [];
  const parts = { client: null as RpcClient<typeof SHAPES> | null, lives: 0 };
  const down = new Pipe((bytes) => guest.receive(bytes));
  const up = new Pipe((bytes) => host.receive(bytes));
  const host: Link = new Link({
    transport: down.transport,
    word: FIRST_SYNC_WORD,
    isGuest: false,
    accept: (_connection, wire) => (parts.client = new RpcClient(wire, SHAPES)),
    onCalled: () => ends.push("host was called"),
  });
  const makeGuest = (): Link =>
    new Link({
      transport: up.transport,
      word: FIRST_SYNC_WORD,
      isGuest: true,
      accept: (connection, wire) => {
        if (connection === 0) parts.lives += 1;
        return new RpcServer(wire, METHODS);
      },
    });
  let guest = makeGuest();
  const client = () => {
    if (!parts.client) throw new Error("no life yet");
    return parts.client;
  };
  return {
    host,
    client,
    parts,
    ends,
    up,
    down,
    restartGuest: () => (guest = makeGuest()),
    guest: () => guest,
  };
}

describe("lives of a link", () => {
  test("the host may ask right behind its word", async () => {
    const { host, client } = pair();
    host.sync();
    expect(await client().ask("echo", { a: 1 })).toEqual({ a: 1 });
  });

  test("what came before the word is dropped, on both sides", async () => {
    const { host, client, up, down } = pair();
    down.transport.write(encodeFrame(0, "text", new Uint8Array(1_000)).subarray(0, 400));
    up.transport.write(encodeFrame(0, "text", new Uint8Array(9_000)).subarray(0, 40));
    host.sync();
    expect(await client().ask("echo", { a: 2 })).toEqual({ a: 2 });
  });

  test("a second life ends what the first one asked", async () => {
    const { host, client, parts } = pair();
    host.sync();
    await client().ask("echo", {});
    const old = client().ask("hang", {});
    host.sync();
    await expect(old).rejects.toMatchObject({ data: { code: "Disconnected" } });
    expect(await client().ask("echo", {})).toEqual({});
    expect(parts.lives).toBe(2);
  });

  test("a guest that starts anew calls, and the host goes on with a new connection 0", async () => {
    const { host, client, restartGuest, ends } = pair();
    host.sync();
    const old = client().ask("hang", {});
    await client().ask("echo", {});
    restartGuest().sync();
    await expect(old).rejects.toMatchObject({ data: { code: "Disconnected" } });
    expect(ends).toEqual(["host was called"]);
    expect(await client().ask("echo", { b: 1 })).toEqual({ b: 1 });
  });

  test("both may call at once, and it comes to rest", async () => {
    const { host, client, guest, up, down } = pair();
    host.sync();
    guest().sync();
    for (;;) {
      const answer = await client()
        .ask("echo", {})
        .catch(() => null);
      if (answer) break;
    }
    const before = up.bytes + down.bytes;
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(up.bytes + down.bytes).toBe(before);
  });
});

describe("connections", () => {
  test("a guest that opens, closes or floods connections gets nothing for it", async () => {
    const { host, client, up, down } = pair();
    host.sync();
    await client().ask("echo", {});
    const before = down.bytes;
    for (let count = 0; count < 10_000; count += 1) {
      up.transport.write(encodeFrame(count % 65_536, "open"));
      up.transport.write(Uint8Array.of(0, 0, 0, 0, 0, count % 7, 9));
      up.transport.write(encodeFrame(count % 65_536, "close"));
    }
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    expect(down.bytes).toBe(before);
    expect(await client().ask("echo", {})).toEqual({});
  });

  test("numbers go round and never meet one in use", () => {
    const { host } = pair();
    host.sync();
    const closed = { text: () => {}, binary: () => {}, closed: () => {} };
    const first = host.open(() => closed);
    for (let count = 0; count < 65_534; count += 1) {
      const number = host.open(() => closed);
      if (number === first || number === 0) throw new Error("taken twice");
      if (count < 10) host.close(number ?? 0, "");
    }
    expect(host.open(() => closed)).toBe(2);
  });
});

describe("streams", () => {
  test("a reader that takes nothing holds the writer at one window", async () => {
    const { host, client, up } = pair();
    host.sync();
    const go = Promise.withResolvers<void>();
    let bytes = 0;
    const { result } = client().call(
      "pour",
      {},
      {
        onBytes: async (_channel, part) => {
          await go.promise;
          bytes += part.length;
        },
      },
    );
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    expect(up.bytes).toBeLessThan(WINDOW_BYTES + 10_000);
    go.resolve();
    await result;
    expect(bytes).toBe(3 * WINDOW_BYTES);
  });

  test("bytes go up as far as there is credit, and all arrive", async () => {
    const { host, client } = pair();
    host.sync();
    const { stream, result } = client().call("sink", {});
    await stream.write(0, new Uint8Array(5 * WINDOW_BYTES));
    stream.end(0);
    expect(await result).toEqual({ bytes: 5 * WINDOW_BYTES });
  });

  test("credit from nowhere does not open the window wider", async () => {
    const { host, client, up, down } = pair();
    host.sync();
    const { id } = client().call("pour", {}, { onBytes: () => new Promise(() => {}) });
    const params = { stream: id, bytes: 1e15 };
    const credit = JSON.stringify({ jsonrpc: "2.0", method: "rpc.credit", params });
    down.transport.write(encodeFrame(0, "text", Buffer.from(credit)));
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    expect(up.bytes).toBeLessThan(2 * WINDOW_BYTES + 10_000);
  });

  test("a guest that sends more than the credit loses its connection", async () => {
    const { host, client, up } = pair();
    host.sync();
    await client().ask("echo", {});
    const { id, result } = client().call("hang", {}, { onBytes: () => new Promise(() => {}) });
    for (let count = 0; count < 20; count += 1)
      up.transport.write(encodeFrame(0, "binary", encodeBinary(id, 1, new Uint8Array(65_536))));
    await expect(result).rejects.toMatchObject({ data: { code: "Disconnected" } });
  });
});
