import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test, vi } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { endSlot } from "../../../durable-objects/host-calls/slots.ts";
import {
  call,
  newOrg,
  newPool,
  newSession,
  type Pool,
  slotOf,
} from "../../support/worker/gateway.ts";

const deletesOf = async (pool: Pool) =>
  (await pool.calls()).filter(({ method }) => method === "DELETE").map(({ path }) => path);

/** A session on a pool that never answers a release. */
async function stubborn() {
  // Alone in the fleet, so that the session can only be here.
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  const pool = await newPool();
  await pool.steer({ remove: "hang" });
  const { key } = await newOrg("free", { browsers: 1 });
  const id = await newSession(key);
  await pool.beat({ slots: [slotOf(id)] });
  const release = () => call(`/sessions/${id}`, { method: "DELETE", bearer: key });
  return { pool, key, id, release, stub: env.SESSIONS.getByName(id) };
}

test("a release is forwarded once: neither a repeat nor the alarm asks the pool again", async () => {
  const { pool, id, release, stub } = await stubborn();
  expect((await release()).status).toBe(204);
  await vi.waitFor(async () => expect(await deletesOf(pool)).toEqual([`/slots/${id}`]), 30_000);
  expect((await release()).status).toBe(204);
  await runDurableObjectAlarm(stub);
  await stub.read();
  expect(await deletesOf(pool)).toEqual([`/slots/${id}`]);
});

test("a release that the pool never answers is given up after 30 s", async () => {
  const { pool, id } = await stubborn();
  const before = Date.now();
  await expect(endSlot(env, pool.url, { org: "o", id })).rejects.toThrow(/abort/i);
  const tookMs = Date.now() - before;
  expect(tookMs).toBeGreaterThanOrEqual(LIMITS.backgroundReleaseMs - 1000);
  expect(tookMs).toBeLessThan(LIMITS.backgroundReleaseMs + 10_000);
});

test("a session released while its pool was away frees its slot, and the pool that is back is told to end it", async () => {
  const { pool, key, id, release, stub } = await stubborn();
  const { bootId } = await pool.heartbeat();
  const source = { hostId: pool.hostId, bootId };
  await stub.hostChanged(source, { type: "hostAway", seenAt: Date.now() });
  expect((await release()).status).toBe(204);
  const record = await call(`/sessions/${id}`, { bearer: key });
  expect(await record.json()).toMatchObject({ status: "released" });
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
  await vi.waitFor(async () => {
    expect((await pool.beat({ slots: [slotOf(id)] })).end).toEqual([id]);
  }, 30_000);
});
