import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import { afterAll, describe, expect, test } from "vitest";
import { filled } from "../support/called-path.ts";
import { testGateway } from "../support/process/gateway.ts";
import { parseRaw, sendRaw } from "../support/process/raw-http.ts";
import { ADMIN_TOKEN, HOST_TOKEN } from "../support/secrets.ts";

const gateway = await testGateway({
  SVC_ALLOWED_HOSTS: "Box.test, other.test:8080, plain.test:80, safe.test:443",
});
const edge = await testGateway();
const keys = new Map([
  [gateway, await gateway.newKey()],
  [edge, await edge.newKey()],
]);
afterAll(() => Promise.all([gateway.close(), edge.close()]));

async function sent(head: string, headers: Record<string, string>, to = gateway) {
  const authorization = { Authorization: `Bearer ${keys.get(to)}` };
  const lines = Object.entries({ ...authorization, ...headers }).map(([k, v]) => `${k}: ${v}`);
  const { status, body } = parseRaw(await sendRaw(to.url, [`${head} HTTP/1.1`, ...lines]));
  return { status, body };
}

describe("a Host header", () => {
  test.each([
    ["localhost"],
    ["localhost:8787"],
    ["LOCALHOST."],
    ["127.0.0.1:1"],
    ["127.200.3.4"],
    ["[::1]:8787"],
    ["any.name.localhost:9"],
    ["box.test"],
    ["BOX.test:99"],
    ["other.test:8080"],
    ["plain.test"],
    ["plain.test:80"],
  ])("of this machine or of SVC_ALLOWED_HOSTS is served: %s", async (Host) => {
    expect(await sent("GET /sessions", { Host })).toMatchObject({ status: 200 });
  });

  test.each([
    ["evil.test"],
    ["evil.test:8787"],
    ["localhost.evil.test"],
    ["127.0.0.1.evil.test"],
    ["evillocalhost"],
    ["box.test.evil.test"],
    ["other.test"],
    ["other.test:8081"],
    ["safe.test"],
    ["0.0.0.0"],
    ["10.0.0.1"],
    ["[::2]"],
  ])("of another name is 403, also with a good key (DNS rebinding): %s", async (Host) => {
    const { status, body } = await sent("GET /sessions", { Host });
    expect(status).toBe(403);
    expect(JSON.parse(body)).toEqual({
      error: expect.stringContaining("SVC_ALLOWED_HOSTS"),
      code: "HostNotAllowed",
    });
  });

  test("counts on every route but those whose URL is the credential", async () => {
    const Host = "evil.test";
    const statuses = await Promise.all(
      Object.values<Operation>(OPERATIONS).map(async ({ method, path, auth }) => {
        const { status } = await sent(`${method} ${filled(path, "x")}`, { Host });
        return { auth, status };
      }),
    );
    const wanted: Partial<Record<Auth, number>> = { objectUrl: 404, fileUrl: 403 };
    expect(statuses).toEqual(statuses.map(({ auth }) => ({ auth, status: wanted[auth] ?? 403 })));
    for (const path of ["/openapi.json", "/healthz", "/nowhere"])
      expect(await sent(`GET ${path}`, { Host })).toMatchObject({ status: 403 });
    for (const path of ["/objects/x", "/files/download?token=x"])
      expect((await sent(`GET ${path}`, { Host })).body).not.toContain("HostNotAllowed");
  });

  test.each([
    ["/ws/x", 401],
    ["/cdp/x", 401],
    ["/control/x", 404],
    ["/stream/x", 404],
  ])("does not count for the socket %s", async (path, status) => {
    const socket = { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Key": "x" };
    const asked = { ...socket, Host: "evil.test", Origin: "https://evil.test" };
    expect(await sent(`GET ${path}`, asked)).toMatchObject({ status });
  });
});

const OPEN = [
  "http://localhost:3000",
  "https://localhost",
  "http://127.0.0.1",
  "http://[::1]:8787",
  "http://app.localhost",
  "https://box.test",
  "http://other.test:8080",
  "http://plain.test",
  "https://safe.test",
];
const CLOSED = [
  "https://evil.test",
  "null",
  "localhost",
  "http://localhost/path",
  "http://me@localhost",
  "http://localhost.evil.test",
  "chrome-extension://localhost",
  "file://",
  "http://other.test",
  "https://plain.test",
  "http://safe.test",
  "http://localhost http://evil.test",
];

describe("an Origin header", () => {
  test.each(OPEN)("of this machine or of SVC_ALLOWED_HOSTS is served: %s", async (Origin) => {
    expect(await sent("GET /sessions", { Origin })).toMatchObject({ status: 200 });
  });

  test.each([
    ["an API key", "GET /sessions", {}],
    ["the admin token", "GET /admin/orgs", { Authorization: `Bearer ${ADMIN_TOKEN}` }],
    ["the host token", "POST /internal/objects", { Authorization: `Bearer ${HOST_TOKEN}` }],
  ])("of another page is 403 where %s is shown", async (_what, head, authorization) => {
    for (const Origin of CLOSED) {
      const { status, body } = await sent(head, { ...authorization, Origin });
      expect({ Origin, status }).toEqual({ Origin, status: 403 });
      expect(JSON.parse(body)).toEqual({
        error: expect.stringContaining("SVC_ALLOWED_HOSTS"),
        code: "OriginNotAllowed",
      });
    }
  });

  test("does not count where no key is shown", async () => {
    const Origin = "https://evil.test";
    expect(await sent("GET /health", { Origin })).toMatchObject({ status: 200 });
    expect(await sent("GET /objects/x", { Origin })).toMatchObject({ status: 404 });
    expect((await sent("GET /files/download?token=x", { Origin })).body).toContain(
      "InvalidFileToken",
    );
  });
});

test("without SVC_ALLOWED_HOSTS neither is looked at: the platform names the gateway", async () => {
  const headers = { Host: "api.svc.test", Origin: "https://console.svc.test" };
  expect(await sent("GET /sessions", headers, edge)).toMatchObject({ status: 200 });
});
