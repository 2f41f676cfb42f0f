import { env } from "cloudflare:workers";
import { evictDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintSessionId } from "@svc/contract/tokens.ts";
import { describe, expect, test } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { call, newOrg, newPool, newSession, slotOf } from "../../support/worker/gateway.ts";
import { SIGNING_SECRET } from "../../support/secrets.ts";

const HANDSHAKE = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };

const upgrade = (path: string, headers = {}) =>
  call(path, { headers: { ...HANDSHAKE, ...headers } });

async function placed() {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  const pool = await newPool();
  const { key, orgId } = await newOrg();
  return { pool, key, orgId, id: await newSession(key) };
}

/** Opens the socket of an accepted upgrade. */
function accept(response: Response): WebSocket {
  expect(response.status).toBe(101);
  if (!response.webSocket) throw new Error("no socket");
  response.webSocket.accept();
  return response.webSocket;
}

function ask(socket: WebSocket, text: string): Promise<string> {
  const answer = new Promise<string>((resolve) => {
    socket.addEventListener("message", (event) => resolve(String(event.data)), { once: true });
  });
  socket.send(text);
  return answer;
}

describe.each(["ws", "cdp"])("/%s/:sessionId", (name) => {
  test("is piped to the owning pool, without a key, with our own bearer and nothing of the customer's but an allow-list", async () => {
    const { id, orgId, pool } = await placed();
    const response = await upgrade(`/${name}/${id}`, {
      authorization: "Bearer customer-secret",
      cookie: "a=b",
      "user-agent": "Playwright/1.65.1",
      "x-other": "1",
    });
    const socket = accept(response);
    const headers: Record<string, string> = JSON.parse(await ask(socket, "headers"));
    expect(headers["user-agent"]).toBe("Playwright/1.65.1");
    expect(headers["authorization"]).toMatch(/^Bearer /);
    expect(JSON.stringify(headers)).not.toContain("customer-secret");
    expect(headers).not.toHaveProperty("cookie");
    expect(headers).not.toHaveProperty("x-other");
    expect(await ask(socket, "hello")).toBe("hello");
    const seen = (await pool.calls()).find(
      ({ method, path }) => method === "GET" && path === `/${name}/${id}`,
    );
    expect(seen?.org).toBe(orgId);
    socket.close();
  });

  test("stays open when the object is evicted", async () => {
    const { id } = await placed();
    const socket = accept(await upgrade(`/${name}/${id}`));
    await evictDurableObject(env.SESSIONS.getByName(id));
    expect(await ask(socket, "still")).toBe("still");
    socket.close();
  });

  async function refusal(path: string) {
    const response = await upgrade(path);
    const plain = response.headers.get("content-type")?.startsWith("text/plain");
    return { status: response.status, plain, text: await response.text() };
  }
  const refused = (status: number, text: RegExp = /\n$/) => ({
    status,
    plain: true,
    text: expect.stringMatching(text),
  });

  test("a malformed path is 404", async () => {
    for (const path of [`/${name}`, `/${name}/`, `/${name}/a/b`]) {
      expect(await refusal(path)).toEqual(refused(404));
    }
  });

  test("a forged, truncated or malformed id is 401", async () => {
    const { id, orgId } = await placed();
    const forged = await mintSessionId("another", { org: orgId, issuedAt: Date.now() });
    for (const bad of ["nope", id.slice(0, -1), forged]) {
      expect(await refusal(`/${name}/${bad}`)).toEqual(refused(401));
    }
  });

  test("an id of 90 minutes is 401, a younger one is not", async () => {
    const org = (await newOrg()).orgId;
    const aged = (ms: number) => mintSessionId(SIGNING_SECRET, { org, issuedAt: Date.now() - ms });
    expect(await refusal(`/${name}/${await aged(LIMITS.socketUrlAgeMs)}`)).toEqual(refused(401));
    expect(await refusal(`/${name}/${await aged(LIMITS.socketUrlAgeMs - 60_000)}`)).toEqual(
      refused(404),
    );
  });

  test("a request that is no upgrade is 426, one without Sec-WebSocket-Key 400", async () => {
    const { id } = await placed();
    expect((await call(`/${name}/${id}`)).status).toBe(426);
    expect((await call(`/${name}/${id}`, { headers: { upgrade: "websocket" } })).status).toBe(400);
  });

  test("a released session is 404 at once, even while its pool is away", async () => {
    const { id, key, pool } = await placed();
    await pool.beat({ slots: [slotOf(id)] });
    const { bootId } = await pool.heartbeat();
    const news = { type: "hostAway", seenAt: Date.now() } as const;
    await env.SESSIONS.getByName(id).hostChanged({ hostId: pool.hostId, bootId }, news);
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect(await refusal(`/${name}/${id}`)).toEqual(refused(404, /released/));
  });

  test.each([
    ["missing", 404],
    ["wire", 428],
    ["full", 429],
    ["refuse", 502],
    ["drop", 502],
  ])("a pool that answers %s is %i", async (mode, status) => {
    const { id, pool } = await placed();
    await pool.steer({ upgrade: mode });
    expect(await refusal(`/${name}/${id}`)).toEqual(refused(status));
  });

  test("a pool that never answers is 502", async () => {
    const { id, pool } = await placed();
    await pool.steer({ upgrade: "hang" });
    expect(await refusal(`/${name}/${id}`)).toEqual(refused(502));
  });
});

describe("a pool that is away", () => {
  test("and comes back in time is served", async () => {
    const { id, pool } = await placed();
    await pool.beat({ slots: [slotOf(id)] });
    const { bootId } = await pool.heartbeat();
    const stub = env.SESSIONS.getByName(id);
    await stub.hostChanged(
      { hostId: pool.hostId, bootId },
      { type: "hostAway", seenAt: Date.now() },
    );
    const waiting = upgrade(`/ws/${id}`);
    await stub.hostChanged(
      { hostId: pool.hostId, bootId },
      { type: "hostBack", seenAt: Date.now() },
    );
    const socket = accept(await waiting);
    expect(await ask(socket, "hello")).toBe("hello");
    socket.close();
  });

  test("and stays away is 404 after 15 s, while the record says unknown", async () => {
    const { id, key, pool } = await placed();
    await pool.beat({ slots: [slotOf(id)] });
    const { bootId } = await pool.heartbeat();
    const source = { hostId: pool.hostId, bootId };
    await env.SESSIONS.getByName(id).hostChanged(source, {
      type: "hostAway",
      seenAt: Date.now(),
    });
    const before = Date.now();
    const response = await upgrade(`/ws/${id}`);
    expect(response.status).toBe(404);
    expect(Date.now() - before).toBeGreaterThan(LIMITS.poolLookupMs - 100);
    const record = await call(`/sessions/${id}`, { bearer: key });
    expect(await record.json()).toMatchObject({ status: "unknown", kind: null });
  });
});
