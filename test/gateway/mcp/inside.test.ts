// Requests and sockets of the tools, which stay in the Worker.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Socket } from "@svc/sdk/socket.ts";
import { Svc } from "@svc/sdk/svc.ts";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { insideFetch, insideSocket } from "../../../src/mcp/inside.ts";
import { BASE } from "../../support/worker/gateway.ts";
import { placed } from "../../support/worker/session.ts";

/** The context of a tool's call, on a gateway that asks under which name it is called. */
function inside() {
  const local = { ...env, SVC_ALLOWED_HOSTS: "svc.test" };
  const send = insideFetch(
    { env: local, executionCtx: createExecutionContext() } as never,
    app.fetch,
  );
  return { send, WebSocket: insideSocket(send) };
}

/** A socket, its first message, and its end. */
async function open(url: string) {
  const listener = {
    onMessage: (_data: unknown): void => {},
    onClose: (_end: unknown): void => {},
  };
  const next = new Promise((resolve) => (listener.onMessage = resolve));
  const end = new Promise((resolve) => (listener.onClose = resolve));
  const socket = await Socket.open(inside().WebSocket, url, listener, { timeoutMs: 60_000 });
  return { socket, next, end };
}

test("an sdk with such a fetch reads what the caller's key may read", async () => {
  const { key, id } = await placed();
  const { send, WebSocket } = inside();
  const svc = new Svc({ apiKey: key, baseUrl: BASE, fetch: send, WebSocket });
  expect(await svc.browsers.get(id)).toMatchObject({ id, status: "active" });
});

test("a socket opens to the session's host, carries text and bytes, and closes", async () => {
  const { id } = await placed();
  const url = `${BASE.replace("http", "ws")}/cdp/${encodeURIComponent(id)}`;
  const text = await open(url);
  text.socket.send("hello");
  expect(await text.next).toBe("hello");
  text.socket.close("done");
  expect(await text.end).toEqual({ code: 1000, reason: "done" });
  const bytes = await open(url);
  bytes.socket.send(new Uint8Array([1, 2, 3]));
  expect(await bytes.next).toEqual(new Uint8Array([1, 2, 3]));
  bytes.socket.close();
});

test("a socket that is refused says why", async () => {
  const url = `${BASE.replace("http", "ws")}/cdp/nothing`;
  await expect(open(url)).rejects.toThrow("The session id is not valid.");
});
