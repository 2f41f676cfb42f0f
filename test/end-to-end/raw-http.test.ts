import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { ConsoleToken } from "@svc/contract/browser/login.ts";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import { afterAll, describe, expect, test } from "vitest";
import { calledPath } from "../support/called-path.ts";
import { testGateway } from "../support/process/gateway.ts";
import { firstResponse, parseRaw, sendRaw } from "../support/process/raw-http.ts";
import { ADMIN_TOKEN } from "../support/secrets.ts";

const gateway = await testGateway({ SVC_PREVIEW_DOMAIN: "preview.localhost" });
const key = await gateway.newKey();
afterAll(() => gateway.close());

async function consoleToken(): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const url = new URL("/console/api/token", gateway.url);
  const answer = await fetch(url, { method: "POST", headers });
  return ConsoleToken.parse(await answer.json()).token;
}

const BEARERS: Partial<Record<Auth, string>> = {
  key,
  console: await consoleToken(),
  operator: ADMIN_TOKEN,
  host: gateway.hostToken,
};

describe.each(Object.entries<Operation>(OPERATIONS))("%s", async (_name, op) => {
  const path = await calledPath(op);
  const lines = (length: string) => [
    `${op.method} ${path} HTTP/1.1`,
    `Authorization: Bearer ${BEARERS[op.auth] ?? "none"}`,
    "Content-Type: application/json",
    `Content-Length: ${length}`,
  ];

  test.each(["abc", "-5", "12, 12", ""])("a Content-Length of %o is 400", async (length) => {
    expect(parseRaw(await sendRaw(gateway.url, lines(length))).status).toBe(400);
  });

  test("a Content-Length above the cap is 413 from the header alone, where a body counts", async () => {
    // No byte of the body is ever sent: an answer shows that none was waited for.
    const answer = parseRaw(await sendRaw(gateway.url, lines(String(op.bodyBytes + 1))));
    const body: unknown = JSON.parse(answer.body);
    const refusal = { code: "PayloadTooLarge", limit: op.bodyBytes };
    expect(answer.status).toBe(op.ignoresBody ? op.success.status : 413);
    expect(body).toMatchObject(op.ignoresBody ? {} : refusal);
  });
});

test("a connection whose body never comes is closed behind the answer", async () => {
  const { hostname, port } = gateway.url;
  const socket = connect(Number(port), hostname);
  const { bodyBytes } = OPERATIONS.createSandbox;
  const lines = [
    "POST /sandboxes HTTP/1.1",
    `Host: ${gateway.url.host}`,
    `Authorization: Bearer ${key}`,
    `Content-Length: ${bodyBytes + 1}`,
    "Connection: close",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  expect(parseRaw(await text(socket)).status).toBe(413);
});

test("an upgrade without Sec-WebSocket-Key is refused as plain text", async () => {
  const lines = ["GET /ws/nope HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade"];
  const answer = parseRaw(await sendRaw(gateway.url, lines));
  expect(answer.status).toBe(401);
  expect(answer.head.toLowerCase()).toContain("content-type: text/plain");
});

/** Sends bytes as they are, without a Host of its own. */
async function sendBytes(...lines: string[]) {
  const socket = connect(Number(gateway.url.port), gateway.url.hostname);
  await once(socket, "connect");
  socket.write(`${lines.join("\r\n")}\r\n`);
  return parseRaw(await firstResponse(socket));
}

test.each([
  "localhost:notaport",
  "localhost:99999",
  "local host",
  "[::1",
  "a/b",
  "a?b",
  "a#b",
  "a@b",
  "a\\b",
  "%",
  "a:80:80",
  ":80",
  "a\r\nHost: b",
])("a Host of %j is 400 and says so in JSON", async (host) => {
  const bearer = `Authorization: Bearer ${key}`;
  for (const line of ["GET /health HTTP/1.1", "POST /sessions HTTP/1.1", "GET /ws/x HTTP/1.1"]) {
    const answer = await sendBytes(line, `Host: ${host}`, bearer, "Connection: close", "");
    expect(answer.status).toBe(400);
    const body: unknown = JSON.parse(answer.body);
    expect(body).toMatchObject({ code: "ValidationError", field: "host" });
  }
});

test.each(["localhost", "localhost:", "LOCALHOST:8787", "127.0.0.1:1", "[::1]:80", "a.example."])(
  "a Host of %j is one",
  async (host) => {
    const lines = ["GET /health HTTP/1.1", `Host: ${host}`, "Connection: close", ""];
    expect((await sendBytes(...lines)).status).toBe(200);
  },
);

describe("GET /health is 200", () => {
  const send = (line: string, ...more: string[]) => sendBytes(line, "Host: a", ...more);

  test.each<[string, string, string[]]>([
    ["with a query that is none", "GET /health?%ff%00&x=%E0%A4%A&&==%zz HTTP/1.1", [""]],
    ["by HEAD", "HEAD /health HTTP/1.1", ["Connection: close", ""]],
    ["with a body", "GET /health HTTP/1.1", ["Content-Length: 5", "", "hello"]],
    ["with a body that is cut", "GET /health HTTP/1.1", ["Content-Length: 50", "", "hello"]],
    [
      "with a body that has no end",
      "GET /health HTTP/1.1",
      ["Transfer-Encoding: chunked", "", "ffff", "x".repeat(0xffff)],
    ],
    ["with a credential that is none", "GET /health HTTP/1.1", ["Authorization: Bearer x", ""]],
    ["with an Idempotency-Key that is none", "GET /health HTTP/1.1", ["Idempotency-Key: ", ""]],
    ["with an upgrade", "GET /health HTTP/1.1", ["Upgrade: websocket", "Connection: Upgrade", ""]],
  ])("%s", async (_name, line, more) => {
    const { status, body } = await send(line, ...more);
    expect(status).toBe(200);
    expect(body).toContain(line.startsWith("HEAD") ? "" : '"ok":true');
  });
});
