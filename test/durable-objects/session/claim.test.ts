import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test, vi } from "vitest";
import { call, slotOf } from "../../support/worker/gateway.ts";
import { placed, stored } from "../../support/worker/session.ts";

/** Longer than the question for a socket and the linger after it take on a busy computer. */
const ENDED_MS = LIMITS.socketConfirmMs + LIMITS.lingerMs + 20_000;

const headers = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };

/** A session whose socket was opened, with a pool that reports nothing of it, and says this when it is asked: it soon is. */
async function opened(endpoint: "ws" | "cdp", seen: object | null) {
  const rig = await placed();
  await rig.pool.steer({ seen });
  const response = await call(`/${endpoint}/${rig.id}`, { headers });
  expect(response.status).toBe(101);
  response.webSocket?.accept();
  return rig;
}

const viewOf = (id: string) => env.SESSIONS.getByName(id).read();

test.each(["ws", "cdp"] as const)(
  "a socket on /%s that came and went unreported is asked for, and the session ends",
  async (endpoint) => {
    const { id } = await opened(endpoint, { opens: 1, closes: 1, lastClose: "clean" });
    const ended = { status: "released", closeReason: "client_disconnected" };
    await vi.waitFor(async () => expect(await viewOf(id)).toMatchObject(ended), ENDED_MS);
  },
);

test("a socket that the pool still has keeps the session, and is not asked for again", async () => {
  const { id, stub, pool } = await opened("ws", { opens: 1, closes: 0 });
  await vi.waitFor(async () => {
    const state = (await stored(stub))?.state;
    expect(state).toMatchObject({ status: "active", detached: null });
    expect(state).not.toHaveProperty("claim");
  }, ENDED_MS);
  const asked = (await pool.calls()).filter(({ path }) => path === `/slots/${id}`);
  expect(asked.map(({ method }) => method)).toEqual(["PUT", "GET"]);
  expect(await viewOf(id)).toMatchObject({ status: "active" });
});

test("a pool that does not hold the session any more has lost it", async () => {
  const { id } = await opened("cdp", null);
  const lost = { status: "released", closeReason: "pool_lost" };
  await vi.waitFor(async () => expect(await viewOf(id)).toMatchObject(lost), ENDED_MS);
});

test("a report that names the socket answers the question before it is asked", async () => {
  const { id, stub, pool } = await opened("ws", { opens: 1, closes: 0 });
  await pool.beat({ slots: [slotOf(id, { opens: 1 })] });
  expect((await stored(stub))?.state).not.toHaveProperty("claim");
});

test("a count that came late takes nothing back", async () => {
  const { id, stub, pool } = await opened("ws", { opens: 2, closes: 1 });
  await pool.beat({ slots: [slotOf(id, { opens: 2, closes: 1 })] });
  const { bootId } = await pool.heartbeat();
  const late = slotOf(id, { opens: 1, closes: 1, lastClose: "clean" });
  expect(await stub.report({ hostId: pool.hostId, bootId }, late)).toBe("keep");
  expect((await stored(stub))?.state).toMatchObject({
    detached: null,
    sockets: { opens: 2, closes: 1 },
  });
});
