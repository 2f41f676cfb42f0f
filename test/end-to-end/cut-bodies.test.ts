import { once } from "node:events";
import { connect } from "node:net";
import { ObjectUrls } from "@svc/contract/host-protocol/objects.ts";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { testGateway } from "../support/process/gateway.ts";
import { ADMIN_TOKEN } from "../support/secrets.ts";

/** What the gateway has logged. */
const lines: string[] = [];
const gateway = await testGateway({}, { port: 0, onLine: (line) => lines.push(line) });
const key = await gateway.newKey();
afterAll(() => gateway.close());
beforeEach(() => void lines.splice(0));

const BEARERS: Partial<Record<Auth, string>> = {
  key,
  operator: ADMIN_TOKEN,
  host: gateway.hostToken,
};

/** The event, and the status of a request, of each line so far. */
const said = () =>
  lines.map((line): [event: string, status: number | undefined] => {
    const { event, status } = JSON.parse(line) as { event: string; status?: number };
    return [event, status];
  });

/** Waits for the line of the request before: it would be taken for one of the next. Then forgets all lines. */
async function told(status: number): Promise<void> {
  await expect.poll(said).toContainEqual(["request", status]);
  lines.splice(0);
}

/** Sends the head of a request and the beginning of its body, and goes away. */
async function cut(head: string[], body: string, how: "destroy" | "end"): Promise<void> {
  const socket = connect(Number(gateway.url.port), gateway.url.hostname);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  await new Promise((sent) => {
    socket.write([...head, `Host: ${gateway.url.host}`, "", body].join("\r\n"), sent);
  });
  // What is unread yet is there for the gateway to read: nothing is reset.
  if (how === "destroy") socket.destroy();
  else socket.end().resume();
}

/** Operations that read a body of JSON, whatever stands in their path. */
const READING = Object.entries<Operation>(OPERATIONS).filter(
  ([, { method, path, request, isRaw }]) =>
    method === "POST" && request && !isRaw && !/:(id|token|hostId)/.test(path),
);

/** Asks as a host where an object lies, or shall lie when its size is told. */
function askObject(file: string, sizeBytes?: number): Promise<Response> {
  const volume = `vol_${"0123456789abcdef".repeat(2)}`;
  const wish = { object: { purpose: "volume", volume, file }, sizeBytes };
  const headers = { authorization: `Bearer ${gateway.hostToken}` };
  const init = { method: "POST", headers, body: JSON.stringify(wish) };
  return fetch(new URL("/internal/objects", gateway.url), init);
}

describe.each(["destroy", "end"] as const)("a client that cuts its body by %s", (how) => {
  test("is gone, too, when it stores an object, and nothing is stored", async () => {
    const { put = "" } = ObjectUrls.parse(await (await askObject(`cut-${how}`, 300_000)).json());
    const path = new URL(put).pathname;
    await told(200);
    await cut([`PUT ${path} HTTP/1.1`, "Content-Length: 300000"], "x".repeat(100_000), how);
    await expect.poll(said).toEqual([
      ["client_gone", undefined],
      ["request", 400],
    ]);
    lines.splice(0);
    expect((await askObject(`cut-${how}`)).status).toBe(404);
    await told(404);
    const whole = { method: "PUT", body: "y".repeat(300_000) };
    expect((await fetch(new URL(path, gateway.url), whole)).status).toBe(200);
    await told(200);
  });

  describe.each(["Content-Length: 50", "Transfer-Encoding: chunked"])("of %s", (length) => {
    const body = length.startsWith("Content") ? "{" : "5\r\n{\r\n";

    test.each(READING)("%s: is gone, and no bug is logged", async (_name, { path, auth }) => {
      const head = [`POST ${path} HTTP/1.1`, `Authorization: Bearer ${BEARERS[auth]}`, length];
      await cut(head, body, how);
      await expect.poll(said).toEqual([
        ["client_gone", undefined],
        ["request", 400],
      ]);
    });

    test("no run is begun under its Idempotency-Key", async () => {
      const authorization = `Authorization: Bearer ${key}`;
      const head = ["POST /sessions HTTP/1.1", authorization, `Idempotency-Key: ${how}`, length];
      await cut(head, body, how);
      await expect.poll(said).toContainEqual(["request", 400]);
      const headers = { authorization: `Bearer ${key}`, "idempotency-key": how };
      // Another body under the same key: 409, were the key used; waiting, did it run.
      const init = { method: "POST", headers, body: '{"profileId":"prof_unknown"}' };
      expect((await fetch(new URL("/sessions", gateway.url), init)).status).toBe(404);
      await told(404);
    });
  });
});
