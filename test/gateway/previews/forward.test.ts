import { Preview } from "@svc/contract/vm/preview.ts";
import { beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost, type VmHost } from "../../support/worker/vm-host.ts";

const Seen = z.object({
  method: z.string(),
  url: z.string(),
  rawHeaders: z.array(z.string()),
  bytes: z.number(),
  sha256: z.string(),
});

let url = "";

let token = "";

let host: VmHost;

beforeAll(async () => {
  host = await newVmHost();
  const { key } = await newOrg();
  const { sandboxId } = await newSandbox(key);
  const response = await call(`/sandboxes/${sandboxId}/ports/3000`, { bearer: key });
  ({ url, token } = Preview.parse(await response.json()));
});

// One that is not heard for 15 s would be away.
beforeEach(() => host.beat());

/** Asks for a path, with the token in the header unless it stands elsewhere. */
const ask = (path: string, init: RequestInit = {}) => {
  const headers = new Headers(init.headers);
  if (!path.includes("svc_token")) headers.set("x-svc-preview-token", token);
  return call(new URL(url).origin + path, { ...init, headers });
};

async function seen(path: string, init: RequestInit = {}) {
  const response = await ask(path, init);
  expect(response.status).toBe(200);
  const { rawHeaders, ...rest } = Seen.parse(await response.json());
  const pairs = rawHeaders.flatMap((word, at) =>
    at % 2 === 0 ? [[word.toLowerCase(), rawHeaders[at + 1] ?? ""] as const] : [],
  );
  return { ...rest, headers: Object.fromEntries(pairs), all: JSON.stringify(rawHeaders) };
}

test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
  "a request of %s reaches the server inside with its path, its query and its body",
  async (method) => {
    const body = method === "GET" || method === "OPTIONS" ? null : "hello";
    const path = "/a%2Fb/%C3%BC/c;d=1/e,f?x=%20+%2F&y[]=1&y[]=2&z&=";
    const found = await seen(path, { method, ...(body && { body }) });
    expect(found).toMatchObject({ method, url: path, bytes: body?.length ?? 0 });
  },
);

test.each([
  ["/", "/"],
  ["//a//b/", "//a//b/"],
  ["/a?b?c", "/a?b?c"],
  ["/a/../../../../exec", "/exec"],
  ["/..%2f..%2fexec", "/..%2f..%2fexec"],
  ["/%2e%2e/%2E./exec", "/exec"],
  ["/..\\..\\exec", "/exec"],
  ["/%5c..%5c", "/%5c..%5c"],
  ["/ports/80/../../../exec", "/exec"],
])("a request for %s stays under its port, as %s", async (path, found) => {
  expect((await seen(path)).url).toBe(found);
});

test("a GET is passed on though its length is told to be 0", async () => {
  expect(await seen("/a", { headers: { "content-length": "0" } })).toMatchObject({ bytes: 0 });
});

test("a request names the host, the scheme and the bodies that its client named", async () => {
  const { headers } = await seen("/", {
    headers: {
      authorization: "Basic abc",
      "accept-encoding": "gzip",
      "cache-control": "no-cache",
    },
  });
  const { host } = new URL(url);
  expect(headers).toMatchObject({
    host,
    authorization: "Basic abc",
    "accept-encoding": "gzip",
    "cache-control": "no-cache",
    "x-forwarded-host": host,
    "x-forwarded-proto": "http",
  });
});

test("a request shows the guest neither our token, nor our bearer, nor a header of ours", async () => {
  const { all, url: found } = await seen(`/a?svc_token=${token}&b=1`, {
    headers: {
      cookie: `a=1; svc_token=${token}; b=2`,
      referer: `${url}&c=1`,
      "x-svc-preview-token": token,
      "x-svc-forward-authorization": "Bearer forged",
    },
  });
  expect(found).toBe("/a?b=1");
  expect(all).not.toContain(token);
  expect(all).not.toMatch(/bearer|x-svc|authorization|cf-worker/i);
  expect(all).toContain('"a=1; b=2"');
  expect(all).toContain("/?c=1");
});

test("a request of a client that says nothing of caches and encodings says nothing of them inside", async () => {
  const { headers } = await seen("/");
  for (const name of ["cache-control", "pragma", "authorization"])
    expect(headers).not.toHaveProperty(name);
});

test.each([200, 201, 204, 304, 400, 404, 425, 418, 500, 503])(
  "an answer of %i is the guest's own",
  async (status) => {
    const response = await ask(`/status/${status}`);
    expect(response.status).toBe(status);
    expect(await response.text()).toBe("");
    expect(response.headers.get("x-svc-answer")).toBeNull();
  },
);

test("an answer that redirects is passed on with its cookies, which stay of this host", async () => {
  const response = await ask(`/redirect?svc_token=${token}`);
  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe("/next?x=%2F&svc_token=kept");
  const cookies = response.headers.getSetCookie();
  expect(cookies.slice(0, 2)).toEqual(["a=1; Path=/", "b=2; HttpOnly"]);
  expect(cookies[2]).toMatch(/^svc_token=/);
});

test("an answer of the guest cannot pass for the host's", async () => {
  const response = await ask("/spoof");
  expect([response.status, await response.text()]).toEqual([200, "spoofed"]);
  expect([...response.headers.keys()].filter((name) => name.startsWith("x-svc"))).toEqual([]);
});

test("an answer that breaks off breaks off here too", async () => {
  const response = await ask("/cut");
  await expect(response.text()).rejects.toThrow("connection");
});

test("an answer that goes on for long comes as it goes", async () => {
  const response = await ask("/events");
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader?.read())?.value).toBe("data: one\n\n");
  // It says the second only when somebody has come back after the first.
  await (await ask("/events")).text();
  expect((await reader?.read())?.value).toBe("data: two\n\n");
  expect((await reader?.read())?.done).toBe(true);
});

const HANDSHAKE = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };

test("a WebSocket goes through, with its path, its protocol and without our token", async () => {
  const response = await ask(`/ws%2F?a=1&svc_token=${token}`, {
    headers: {
      ...HANDSHAKE,
      "sec-websocket-protocol": "chat",
      origin: "http://x",
      cookie: "a=1",
    },
  });
  expect(response.status).toBe(101);
  const socket = response.webSocket;
  if (!socket) throw new Error("no socket");
  socket.accept();
  const say = (text: string) =>
    new Promise<string>((resolve) => {
      socket.addEventListener("message", ({ data }) => resolve(String(data)), { once: true });
      socket.send(text);
    });
  expect(await say("hello")).toBe("hello");
  expect(await say("url")).toBe("/ws%2F?a=1");
  const headers = (await say("headers")).toLowerCase();
  expect(headers).not.toMatch(/bearer|x-svc|authorization|cf-worker/);
  expect(headers).not.toContain(token.toLowerCase());
  for (const text of ["http://x", "a=1", "chat", new URL(url).host])
    expect(headers).toContain(text);
  socket.close();
});

test("a WebSocket that the guest refuses is refused in its words", async () => {
  const response = await ask("/refuse", { headers: HANDSHAKE });
  expect([response.status, await response.text()]).toEqual([403, "not you"]);
  // What is asked of the host next does not get there by the connection that the guest was left with.
  expect((await host.steer()).overheard).toEqual([]);
});

test("a WebSocket without a token is 401", async () => {
  const bare = new URL("/", url).href;
  expect((await call(bare, { headers: HANDSHAKE })).status).toBe(401);
});
