import { encodeBinary } from "@svc/contract/control-channel/binary-frame.ts";
import { HELD_BYTES } from "@svc/contract/control-channel/rpc-calls.ts";
import { RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import type { RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import { WINDOW_BYTES } from "@svc/contract/control-channel/stream.ts";
import type { Wire } from "@svc/contract/control-channel/wire.ts";
import { beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";

const SHAPES = { it: { params: z.object({}), result: z.object({ n: z.number() }) } };
const ANSWER_MS = 1_000;
const PIECE = Buffer.alloc(64 * 1024);

let sent: string[];
let closed: string[];
let unwanted: number[];
let client: RpcClient<typeof SHAPES>;

beforeEach(() => {
  sent = [];
  closed = [];
  unwanted = [];
  const wire: Wire = {
    sendText: (text) => void sent.push(text),
    sendBinary: () => {},
    close: (reason) => void closed.push(reason),
    whenWritable: () => null,
  };
  const onUnwanted = (bytes: number): void => void unwanted.push(bytes);
  client = new RpcClient(wire, SHAPES, undefined, { answerMs: ANSWER_MS, onUnwanted });
});

const say = (message: object): void =>
  client.text(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })));

test("a request that is never answered ends at its time, and one that is cancelled soon after", async () => {
  vi.useFakeTimers();
  const codeOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(() => "answered").catch((error: RpcError) => error.data?.code);
  const asked = codeOf(client.ask("it", {}));
  await vi.advanceTimersByTimeAsync(ANSWER_MS);
  expect(await asked).toBe("Disconnected");
  expect(sent.at(-1)).toContain("rpc.cancel");
  const caller = new AbortController();
  const cancelled = codeOf(client.call("it", {}, { signal: caller.signal }).result);
  caller.abort();
  await vi.advanceTimersByTimeAsync(10 * ANSWER_MS);
  expect(await cancelled).toBe("Disconnected");
  vi.useRealTimers();
});

test("the first answer counts, and what comes after it is dropped", async () => {
  const taken: number[] = [];
  const blocked = Promise.withResolvers<void>();
  const { id, result } = client.call(
    "it",
    {},
    {
      onBytes: (_channel, bytes) => {
        taken.push(bytes.length);
        return blocked.promise;
      },
    },
  );
  await Promise.resolve();
  client.binary(encodeBinary(id, 1, Buffer.from("one")));
  client.binary(encodeBinary(id, 1, Buffer.from("two")));
  say({ id, result: { n: 1 } });
  say({ id, result: { n: 2 } });
  client.binary(encodeBinary(id, 1, Buffer.from("late")));
  blocked.resolve();
  expect(await result).toEqual({ n: 1 });
  expect(taken).toEqual([3, 3]);
});

test("bytes after the end of a channel are dropped, and the other channel goes on", async () => {
  const taken: string[] = [];
  const onBytes = (channel: number, bytes: Uint8Array): void =>
    void taken.push(`${channel}:${Buffer.from(bytes).toString()}`);
  const { id, result } = client.call("it", {}, { onBytes });
  const bytes: [1 | 2, string][] = [
    [1, "a"],
    [1, ""],
    [1, "b"],
    [1, ""],
    [2, "c"],
  ];
  for (const [channel, text] of bytes) client.binary(encodeBinary(id, channel, Buffer.from(text)));
  say({ id, result: { n: 1 } });
  await result;
  // What came before the handler was ready is put together.
  expect(taken).toEqual(["1:a", "1:", "2:c"]);
});

test("a handler that throws fails its call alone", async () => {
  const failing = client.call(
    "it",
    {},
    {
      onBytes: () => {
        throw new Error("its disk is full");
      },
    },
  );
  const other = client.call("it", {});
  client.binary(encodeBinary(failing.id, 1, Buffer.from("x")));
  await expect(failing.result).rejects.toThrow("its disk is full");
  say({ id: other.id, result: { n: 3 } });
  expect(await other.result).toEqual({ n: 3 });
  expect(closed).toEqual([]);
});

test("readers that take nothing hold no more than a connection may: the largest stream is given up", async () => {
  const calls = Array.from({ length: HELD_BYTES / WINDOW_BYTES + 1 }, () =>
    client.call("it", {}, { onBytes: () => new Promise<void>(() => {}) }),
  );
  const ends = calls.map(({ result }) => result.then(() => "answered").catch(() => "given up"));
  await Promise.resolve();
  for (const { id } of calls)
    for (let at = 0; at < WINDOW_BYTES; at += PIECE.length)
      client.binary(encodeBinary(id, 1, PIECE));
  for (const { id } of calls) say({ id, result: { n: 1 } });
  expect(await Promise.race(ends)).toBe("given up");
  expect(closed).toEqual([]);
});

test("pieces keep the order of their channel, however many channels and pieces wait", async () => {
  const taken: Record<number, string> = { 1: "", 2: "" };
  const blocked = Promise.withResolvers<void>();
  const { id, result } = client.call(
    "it",
    {},
    {
      onBytes: (channel, bytes) => {
        taken[channel] += Buffer.from(bytes).toString();
        return blocked.promise;
      },
    },
  );
  let written = "";
  for (let at = 0; at < 3_000; at += 1) {
    const piece = `${at},`;
    written += piece;
    for (const channel of [1, 2] as const)
      client.binary(encodeBinary(id, channel, Buffer.from(piece)));
  }
  say({ id, result: { n: 1 } });
  blocked.resolve();
  await result;
  expect(taken).toEqual({ 1: written, 2: written });
});

test("what nobody waits for is dropped and counted", () => {
  say({ id: 7, result: {} });
  say({ method: "rpc.credit", params: { stream: 7, bytes: 1 } });
  client.binary(encodeBinary(7, 1, PIECE));
  expect(unwanted).toHaveLength(3);
  expect(unwanted.at(-1)).toBeGreaterThan(PIECE.length);
  const { id } = client.call("it", {});
  client.binary(encodeBinary(id, 1, PIECE));
  say({ id, result: { n: 1 } });
  expect(unwanted).toHaveLength(3);
  expect(closed).toEqual([]);
});
