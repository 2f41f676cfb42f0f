import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import { afterAll, describe, expect, test } from "vitest";
import { calledPath } from "../support/called-path.ts";
import { testGateway } from "../support/process/gateway.ts";
import { parseRaw, sendRaw } from "../support/process/raw-http.ts";
import { ADMIN_TOKEN } from "../support/secrets.ts";

const gateway = await testGateway();
const key = await gateway.newKey();
afterAll(() => gateway.close());

const BEARERS: Partial<Record<Auth, string>> = {
  key,
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

  test("a Content-Length above the cap is 413 from the header alone", async () => {
    // No byte of the body is ever sent: an answer shows that none was waited for.
    const answer = parseRaw(await sendRaw(gateway.url, lines(String(op.bodyBytes + 1))));
    expect(answer.status).toBe(413);
    const body: unknown = JSON.parse(answer.body);
    expect(body).toMatchObject({ code: "PayloadTooLarge", limit: op.bodyBytes });
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
