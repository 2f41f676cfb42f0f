import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import { afterAll, describe, expect, test } from "vitest";
import { calledPath, filled } from "../support/called-path.ts";
import { testGateway } from "../support/process/gateway.ts";
import { descendants } from "../support/process/process-tree.ts";
import { parseRaw, rawSocket, sendRaw } from "../support/process/raw-http.ts";

const MIB = 1024 * 1024;
const gateway = await testGateway();
afterAll(() => gateway.close());

/** What each route answers to a credential that is not good, whatever the body. */
const REFUSALS: Record<Auth, number> = {
  key: 401,
  console: 401,
  operator: 401,
  host: 401,
  objectUrl: 404,
  fileUrl: 403,
  none: 200,
};
const OPS = Object.entries<Operation>(OPERATIONS);
const BODY_ENDLESS = "Transfer-Encoding: chunked";

const linesOf = ({ method, path }: Operation): string[] => [
  `${method} ${filled(path, "x")} HTTP/1.1`,
  "Authorization: Bearer nonsense",
  "Content-Type: application/json",
  BODY_ENDLESS,
];

describe.each(OPS)("%s", (_name, op) => {
  test("its credential is checked before a byte of its body is there", async () => {
    const answer = parseRaw(await sendRaw(gateway.url, linesOf(op)));
    expect(answer.status).toBe(REFUSALS[op.auth]);
  });
});

test("an upload whose length is not told is 400 and names the header, before a byte of it is there", async () => {
  const path = await calledPath(OPERATIONS.putObject);
  const answer = parseRaw(await sendRaw(gateway.url, [`PUT ${path} HTTP/1.1`, BODY_ENDLESS]));
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.body)).toMatchObject({
    code: "ValidationError",
    field: "content-length",
  });
});

test("bodies without an end, sent by strangers to every route that takes one, are refused", async () => {
  const taking = OPS.filter(([, { method }]) => method !== "GET").map(([, op]) => op);
  for (let at = 0; at < taking.length; at += 10) {
    const some = taking.slice(at, at + 10);
    const statuses = await Promise.all(some.map((op) => floodedStatus(op)));
    expect(statuses).toEqual(some.map(({ auth }) => REFUSALS[auth]));
  }
});

test("uploads without an end, with no good token, are held nowhere", async () => {
  const before = await warmPeakBytes();
  const op = OPERATIONS.putObject;
  const statuses = await Promise.all(Array.from({ length: 10 }, () => floodedStatus(op)));
  expect(new Set(statuses)).toEqual(new Set([404]));
  // One of them held whole is 32 MiB.
  expect((await peakBytes()) - before).toBeLessThan(100 * MIB);
});

/** Sends a chunked body until the other side takes no more, or 33 MiB are sent. Answers the status. */
async function floodedStatus(op: Operation): Promise<number> {
  const socket = await rawSocket(gateway.url);
  const head = [...linesOf(op), `Host: ${gateway.url.host}`, "", ""].join("\r\n");
  socket.write(head);
  const [answer] = await Promise.all([heard(socket), flood(socket)]);
  socket.destroy();
  return parseRaw(answer).status;
}

/** What was answered first; reading goes on, so that the connection is not held up. */
function heard(socket: Socket): Promise<string> {
  return once(socket, "data").then(([bytes]) => String(bytes));
}

async function flood(socket: Socket): Promise<void> {
  const chunk = Buffer.alloc(64 * 1024, "x");
  const framed = Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]);
  const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => undefined);
  for (let sent = 0; sent < 33 * MIB && !socket.destroyed; sent += chunk.length) {
    if (!socket.write(framed)) await Promise.race([once(socket, "drain").catch(() => null), gone]);
  }
}

/** The most memory that workerd has had after ten bodies for a route that reads none: what the runtime takes for its own work is there already. */
async function warmPeakBytes(): Promise<number> {
  await Promise.all(Array.from({ length: 10 }, () => floodedStatus(OPERATIONS.listSessions)));
  return peakBytes();
}

/** The most memory that workerd has had so far. */
async function peakBytes(): Promise<number> {
  const [pid] = await descendants(process.pid, "workerd");
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const [, kib = ""] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return Number(kib) * 1024;
}
