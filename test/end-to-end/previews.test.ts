import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { Preview } from "@svc/contract/vm/preview.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { PREVIEW_DOMAIN, VmGateway } from "../support/process/vm-gateway.ts";
import { stateFolder } from "../support/process/state-folder.ts";

let it: VmGateway;
let stateDir = "";
let preview: Preview;

beforeAll(async () => {
  stateDir = await mkdtemp(join(stateFolder(), "svc-"));
  it = await VmGateway.start(stateDir);
  preview = await mint(3000);
});
afterAll(async () => {
  await it?.close();
  await rm(stateDir, { recursive: true, force: true });
});

const mint = async (port: number, query = ""): Promise<Preview> =>
  Preview.parse(await (await it.call(`/sandboxes/${it.id}/ports/${port}${query}`)).json());

/** Asks a preview as a browser would, over the port of the gateway: Node itself finds no *.localhost. */
async function ask(
  path: string,
  headers: Record<string, string> = {},
  { url, token }: Preview = preview,
  method = "GET",
): Promise<{ answer: IncomingMessage; body: Buffer }> {
  const { hostname, port } = it.gateway.url;
  const sent = { host: new URL(url).host, "x-svc-preview-token": token, ...headers };
  const asked = httpRequest({ hostname, port, path, method, headers: sent });
  asked.end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return { answer, body: await buffer(answer) };
}

test("a URL names the gateway's own port under the domain", () => {
  const { hostname, port } = new URL(preview.url);
  expect(hostname).toMatch(new RegExp(`^[0-9a-f]{40}-3000\\.${PREVIEW_DOMAIN}$`));
  expect(port).toBe(it.gateway.url.port);
});

test.each([
  ["gzip", gunzipSync],
  ["br", brotliDecompressSync],
])("a body in %s passes as the guest made it", async (encoding, unpack) => {
  const { answer, body } = await ask(`/${encoding}`, { "accept-encoding": encoding });
  expect(answer.headers["content-encoding"]).toBe(encoding);
  expect(answer.headers["content-length"]).toBe(String(body.length));
  expect(unpack(body).toString()).toBe("hello ".repeat(2000));
});

test.each([
  ["none", {}],
  ["gzip", { "accept-encoding": "gzip" }],
  ["identity", { "accept-encoding": "identity" }],
])("the guest hears of encodings what the client said: %s", async (_name, headers) => {
  const { body } = await ask("/", headers);
  const { rawHeaders } = JSON.parse(body.toString()) as { rawHeaders: string[] };
  const heard = rawHeaders.findIndex((word) => /^accept-encoding$/i.test(word));
  const said = Object.values(headers)[0];
  expect(heard === -1 ? undefined : rawHeaders[heard + 1]).toBe(said);
});

test.each(["GET", "HEAD", "DELETE"])("an empty body of %s is none", async (method) => {
  const { answer } = await ask("/", { "content-length": "0" }, preview, method);
  expect(answer.statusCode).toBe(200);
});

test("a redirect and two cookies come as two cookies", async () => {
  const { answer } = await ask("/redirect");
  expect(answer.statusCode).toBe(302);
  expect(answer.headers["set-cookie"]).toHaveLength(2);
  expect(answer.headers.location).toBe("/next?x=%2F&svc_token=kept");
});

describe("the host name", () => {
  test("is the same in capitals and with a dot at its end", async () => {
    const { host } = new URL(preview.url);
    const [name = "", port = ""] = host.split(":");
    for (const written of [host.toUpperCase(), `${name}.:${port}`, name]) {
      const { answer } = await ask("/", { host: written });
      expect(answer.statusCode).toBe(200);
    }
  });

  test("of the API serves the API, also with a token of a preview", async () => {
    const { answer } = await ask("/nowhere", { host: it.gateway.url.host });
    expect(answer.statusCode).toBe(401);
  });
});

test("a WebSocket goes through, with large messages, its protocol and its close", async () => {
  const { host } = new URL(preview.url);
  const url = `ws://${it.gateway.url.host}/ws?svc_token=${preview.token}`;
  const socket = new WebSocket(url, ["chat"], { headers: { host } });
  await once(socket, "open");
  expect(socket.protocol).toBe("chat");
  const large = Buffer.alloc(3_000_000, "y");
  socket.send(large);
  const [data] = (await once(socket, "message")) as [Buffer];
  expect(data.equals(large)).toBe(true);
  socket.close(4321, "done");
  expect(await once(socket, "close")).toEqual([4321, Buffer.from("done")]);
});

test("a WebSocket hears why its machine ends, after what the server inside has said", async () => {
  const { host } = new URL(preview.url);
  const url = `ws://${it.gateway.url.host}/ws?svc_token=${preview.token}`;
  const socket = new WebSocket(url, { headers: { host } });
  await once(socket, "open");
  const large = Buffer.alloc(3_000_000, "y");
  socket.send(large);
  const [data] = (await once(socket, "message")) as [Buffer];
  it.host.guest.endSockets(CLOSE_CODES.paused, "the sandbox was paused");
  expect(await once(socket, "close")).toEqual([4409, Buffer.from("the sandbox was paused")]);
  expect(data.equals(large)).toBe(true);
});

test("a WebSocket's answer reaches no further than the host name, as every other answer", async () => {
  const { host } = new URL(preview.url);
  const url = `ws://${it.gateway.url.host}/far?svc_token=${preview.token}`;
  const socket = new WebSocket(url, ["chat"], { headers: { host } });
  const [{ headers }] = (await once(socket, "upgrade")) as [IncomingMessage];
  expect(headers["set-cookie"]).toEqual(["a=1", expect.stringMatching(/^svc_token=/)]);
  expect(headers).toMatchObject({
    "x-inside": "1",
    "clear-site-data": '"cache", "storage", "executionContexts"',
  });
  expect(headers).not.toHaveProperty("x-svc-answer");
  socket.close();
  await once(socket, "close");
});

test("after a restart of the gateway what was minted works as before, public or by its token", async () => {
  const open = await mint(8000, "?public=1");
  await it.restart(stateDir);
  expect((await ask("/")).answer.statusCode).toBe(200);
  expect((await ask("/", {}, { ...open, token: "" })).answer.statusCode).toBe(200);
  expect((await ask("/", { "x-svc-preview-token": "" })).answer.statusCode).toBe(401);
});
