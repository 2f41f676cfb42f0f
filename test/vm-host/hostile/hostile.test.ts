import { once } from "node:events";
import { request } from "node:http";
import { PassThrough } from "node:stream";
import { encodeBinary } from "@svc/contract/control-channel/binary-frame.ts";
import { encodeFrame } from "@svc/contract/control-channel/frames.ts";
import { EXEC_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KEPT_BYTES } from "../../../vm-host/guest/kept-output.ts";
import { TimeShare } from "../../../vm-host/guest/time-share.ts";
import { transportOf } from "../../../vm-host/guest/transport.ts";
import type { AgentCall, TestAgent } from "./agent.ts";
import { Bed, keptBytes } from "./bed.ts";

const MIB = 1024 * 1024;
const PIECE = 64 * 1024;
const EMPTY = new Uint8Array();

let bed: Bed;
let agent: TestAgent;
let breaches: string[];

beforeEach(async () => {
  bed = await Bed.start();
  const made = await bed.machine("hostile");
  agent = made.agent;
  breaches = [];
  made.vm.guest.breaches.tell = ({ reason }) => void breaches.push(reason);
});
afterEach(() => bed.close());

async function get(rest: string): Promise<Response> {
  const { url, headers } = await bed.call("hostile", rest);
  return fetch(url, { headers });
}

/** Whoever asks after all this is answered. */
async function expectAnswers(): Promise<void> {
  agent.conduct = ({ port, connection, id }) =>
    void port.text(connection, { id, result: { exitCode: 7 } });
  expect(await (await bed.exec("hostile", "true")).json()).toMatchObject({ exitCode: 7 });
}

const answer = ({ port, connection, id }: AgentCall, result: object): Promise<void> =>
  port.text(connection, { id, result });

test("bytes after the end of a connection are dropped, also before it stands", async () => {
  agent.conduct = async (call) => {
    const { port, connection, id } = call;
    for (const stream of [id, 1, 2, 3])
      for (const bytes of [EMPTY, Buffer.from("more"), EMPTY, Buffer.from("and more")])
        await port.bytes(connection, stream, bytes);
    await answer(call, { sentBytes: 0, receivedBytes: 0 });
    await port.bytes(connection, id, Buffer.from("after the answer"));
  };
  expect((await get("ports/8000/")).status).toBe(502);
  await expectAnswers();
});

test("bytes after the end of an answer of HTTP reach nobody", async () => {
  agent.conduct = async (call) => {
    const { port, connection, id } = call;
    await port.text(connection, { method: "ports.connected", params: { id } });
    const text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nmore";
    await port.bytes(connection, id, Buffer.from(text));
    await port.bytes(connection, id, EMPTY);
    await port.bytes(connection, id, Buffer.from("and more"));
  };
  const response = await get("ports/8000/");
  expect(await response.text()).toBe("ok");
  await expectAnswers();
});

test.each([
  [
    "an upgrade that nobody asked for",
    "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
  ],
  ["no answer", ""],
  ["no HTTP", "hello\r\n\r\n"],
  ["a status that there is not", "HTTP/1.1 099 no\r\n\r\n"],
])("a preview whose server answers with %s is 502", async (_name, text) => {
  agent.conduct = async ({ port, connection, id }) => {
    await port.text(connection, { method: "ports.connected", params: { id } });
    if (text) await port.bytes(connection, id, Buffer.from(text));
    await port.bytes(connection, id, EMPTY);
  };
  expect((await get("ports/8000/")).status).toBe(502);
});

test("a command that prints more than an answer may have loses the connection, and the host keeps none of it", async () => {
  const before = await keptBytes();
  agent.conduct = async ({ port, connection, id }) => {
    const piece = Buffer.alloc(PIECE);
    for (let sent = 0; sent < 4 * EXEC_OUTPUT_BYTES; sent += PIECE)
      await port.bytes(connection, id, piece);
  };
  const response = await bed.exec("hostile", "yes");
  expect(response.status).toBe(502);
  await expectAnswers();
  expect(breaches[0]).toMatch(/printed more than/);
  expect((await keptBytes()) - before).toBeLessThan(16 * MIB);
});

test("the output of all commands of a machine together has a bound; what is beyond it is left out", async () => {
  const before = await keptBytes();
  const waiting: AgentCall[] = [];
  agent.conduct = (call) => void waiting.push(call);
  const asked = Array.from({ length: 8 }, () => bed.exec("hostile", "yes"));
  await expect.poll(() => waiting.length).toBe(asked.length);
  const piece = Buffer.alloc(PIECE, "x");
  for (let sent = 0; sent < EXEC_OUTPUT_BYTES; sent += PIECE)
    for (const { port, connection, id } of waiting) await port.bytes(connection, id, piece);
  expect((await keptBytes()) - before).toBeLessThan(KEPT_BYTES + 8 * MIB);
  for (const call of waiting) await answer(call, { exitCode: 0 });
  const answers = await Promise.all(asked);
  const bodies = await Promise.all(answers.map(async (got) => ExecResult.parse(await got.json())));
  const bytes = bodies.reduce((sum, { stdout }) => sum + stdout.length, 0);
  expect(bytes).toBe(KEPT_BYTES);
  expect(bodies.some(({ truncated }) => truncated)).toBe(true);
  await expectAnswers();
});

test("an answer of NUL bytes and broken characters is whole", async () => {
  const printed = Buffer.concat([Buffer.alloc(2 * MIB), Buffer.from([0xff, 0xe2, 0x82])]);
  agent.conduct = async (call) => {
    for (let at = 0; at < printed.length; at += PIECE)
      await call.port.bytes(call.connection, call.id, printed.subarray(at, at + PIECE));
    await answer(call, { exitCode: 0 });
  };
  const { stdout } = ExecResult.parse(await (await bed.exec("hostile", "head")).json());
  expect(stdout).toBe(printed.toString());
});

test("pieces of one byte for a reader that does not read cost the host little more than their bytes", async () => {
  let sent = 0;
  agent.conduct = async ({ port, connection, id }) => {
    await port.text(connection, { method: "ports.connected", params: { id } });
    await port.bytes(connection, id, Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
    const one = encodeFrame(connection, "binary", encodeBinary(id, 1, Buffer.from("x")));
    const filler = encodeFrame(connection, "binary", encodeBinary(id + 1, 1, Buffer.alloc(2_000)));
    for (; sent < 100_000; sent += 1) await port.write(sent % 10 === 0 ? filler : one);
  };
  const { url, headers } = await bed.call("hostile", "ports/8000/");
  const asked = request(url, { headers });
  asked.end();
  const [response] = await once(asked, "response");
  response.pause();
  const before = await keptBytes();
  await expect.poll(() => sent).toBe(100_000);
  expect((await keptBytes()) - before).toBeLessThan(32 * MIB);
  asked.destroy();
  await expectAnswers();
});

test("a file of which more or less comes than the agent says is no whole file", async () => {
  agent.conduct = async (call) => {
    await call.port.bytes(call.connection, call.id, Buffer.from("four"));
    await answer(call, { size: 4, bytes: 3, mtime: new Date().toISOString() });
  };
  const response = await get("files?path=/a");
  expect(response.status).toBe(502);
  expect(await response.text()).toContain("The file changed while it was read");
});

test.each([
  [{ code: -32_000, message: "no", data: { code: "constructor" } }, 400],
  [{ code: -32_000, message: "no", data: { code: "__proto__" } }, 400],
  [{ code: -32_000, message: "x".repeat(50_000), data: { code: "NotFound" } }, 404],
])("a refusal by the agent is a status, whatever its words are", async (error, status) => {
  agent.conduct = ({ port, connection, id }) => void port.text(connection, { id, error });
  const response = await get("files?path=/a");
  expect(response.status).toBe(status);
  expect((await response.text()).length).toBeLessThan(3_000);
});

test("a text of the agent that its host never asks for loses the connection unread", async () => {
  agent.conduct = (call) => void answer(call, { exitCode: 0, more: "[],".repeat(100_000) });
  expect((await bed.exec("hostile", "true")).status).toBe(502);
  await expectAnswers();
  expect(breaches).toEqual(["a frame has a forbidden length"]);
});

test("an answer that does not fit its method fails its request alone", async () => {
  agent.conduct = (call) => void answer(call, { exitCode: "none" });
  expect((await bed.exec("hostile", "true")).status).toBe(502);
  await expectAnswers();
});

test("a machine that does not take what it is sent has a bound", async () => {
  const stuck = new PassThrough({ writableHighWaterMark: 1 });
  let isFull = false;
  const transport = transportOf(stuck, MIB, () => (isFull = true));
  for (let sent = 0; sent < MIB; sent += PIECE) transport.write(Buffer.alloc(PIECE));
  expect(isFull).toBe(false);
  transport.write(Buffer.alloc(PIECE));
  transport.write(Buffer.alloc(PIECE));
  expect(isFull).toBe(true);
  expect(LIMITS.machineHeldBytes).toBe(64 * MIB);
});

test("words that serve nobody make their machine wait, at most a second", () => {
  const unwanted = new TimeShare();
  for (let sent = 0; sent < MIB; sent += PIECE) unwanted.unwanted(PIECE);
  expect(unwanted.spend(0)).toBeGreaterThan(0);
  expect(unwanted.spend(0)).toBeLessThan(200);
  const broken = new TimeShare();
  for (let breaches = 0; breaches < 10_000; breaches += 1) broken.breach();
  expect(broken.spend(20)).toBeGreaterThan(900);
  expect(broken.spend(20)).toBeLessThanOrEqual(1_000);
});

test("a machine whose words take the host's time waits three times as long", () => {
  const share = new TimeShare();
  const waits = Array.from({ length: 10 }, () => share.spend(20));
  expect(waits[0]).toBe(0);
  expect(waits.at(-1)).toBeGreaterThan(9 * 20 * 3);
});
