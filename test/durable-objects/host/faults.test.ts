import { env } from "cloudflare:workers";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test, vi } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import type { StoredHost } from "../../../durable-objects/host/reconcile.ts";
import { newOrg, newPool, newSession, type Pool, slotOf } from "../../support/worker/gateway.ts";

async function placed() {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  const pool = await newPool();
  const id = await newSession((await newOrg()).key);
  await pool.beat({ slots: [slotOf(id, { opens: 1 })] });
  return { pool, id, host: env.HOSTS.getByName(pool.hostId) };
}

const known = async () => (await fleet(env).list()).map(({ hostId }) => hostId);
const status = async (id: string) => (await env.SESSIONS.getByName(id).read())?.status;

/** Makes the host look silent for longer than it may be. */
const silence = ({ hostId }: Pool) =>
  runInDurableObject(env.HOSTS.getByName(hostId), (_object, state) => {
    const host = state.storage.kv.get<StoredHost>("host");
    if (!host) throw new Error("no host");
    state.storage.kv.put("host", { ...host, seenAt: Date.now() - LIMITS.hostSilenceMs });
  });

/** Breaks the fleet's object for as long as the work runs. */
async function withoutFleet(work: () => Promise<unknown>): Promise<void> {
  const object = env.FLEET.getByName("fleet");
  await runInDurableObject(object, async (instance, state) => {
    Object.assign(instance, { persist: () => Promise.reject(new Error("broken")) });
    await state.storage.sync();
  });
  try {
    await work();
  } finally {
    await runInDurableObject(object, (instance) => {
      Reflect.deleteProperty(instance, "persist");
    });
  }
}

test("a registration that fails is repeated until the fleet knows the host", async () => {
  const pool = await newPool();
  await fleet(env).remove(pool.hostId);
  await withoutFleet(() => pool.beat({ kinds: { fast: { idle: 1, busy: 0, recycling: 0 } } }));
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(env.HOSTS.getByName(pool.hostId));
    expect(await known()).toContain(pool.hostId);
  }, 30_000);
});

test("a silence that the fleet could not hear of at once is told again by the alarm", async () => {
  const { pool, id, host } = await placed();
  await silence(pool);
  await withoutFleet(() => runDurableObjectAlarm(host));
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(host);
    expect(await known()).not.toContain(pool.hostId);
  }, 30_000);
  await vi.waitFor(async () => expect(await status(id)).toBe("away"), 30_000);
});

test("a host that is back tells so by reporting its sessions, unchanged as they are", async () => {
  const { pool, id, host } = await placed();
  await silence(pool);
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(host);
    expect(await status(id)).toBe("away");
  }, 30_000);
  await pool.beat({ slots: [slotOf(id, { opens: 1 })] });
  expect(await status(id)).toBe("active");
  expect(await known()).toContain(pool.hostId);
});

test("an earlier start that still runs somewhere is told to end all it holds", async () => {
  const { pool, id } = await placed();
  const earlier = await pool.heartbeat();
  await pool.beat({ bootId: "another-start", slots: [] });
  const response = await pool.post({ ...earlier, seq: earlier.seq + 100, slots: [slotOf(id)] });
  expect(await response.json()).toEqual({ end: [id], pollMs: LIMITS.heartbeatMs });
  const [record] = (await fleet(env).list()).filter(({ hostId }) => hostId === pool.hostId);
  expect(record).toBeDefined();
});

test("an end that the session could not hear of is asked for again, and told with the next heartbeat", async () => {
  const { pool, id } = await placed();
  const session = env.SESSIONS.getByName(id);
  const good = await runInDurableObject(session, (_object, state) => {
    const value = state.storage.kv.get("session");
    state.storage.kv.put("session", "broken");
    return value;
  });
  const crash = { slots: [slotOf(id, { ended: "browser_crashed" })] };
  const untaken = await pool.beat(crash);
  expect(untaken).toEqual({ end: [], again: [id], pollMs: LIMITS.heartbeatAgainMs });
  await runInDurableObject(session, (_object, state) => state.storage.kv.put("session", good));
  await pool.beat(crash);
  expect((await session.read())?.closeReason).toBe("browser_crashed");
});

test("a gateway that was away itself gives every host its time to be heard before it is away", async () => {
  const { pool, id, host } = await placed();
  await silence(pool);
  await runInDurableObject(host, (object) =>
    // As the runtime calls it when it starts again long after the time it was set for.
    object.alarm({ isRetry: false, retryCount: 0, scheduledTime: Date.now() - 20_000 }),
  );
  expect(await known()).toContain(pool.hostId);
  expect(await status(id)).toBe("active");
  const alarm = await runInDurableObject(host, (_object, state) => state.storage.getAlarm());
  expect(alarm).toBeGreaterThan(Date.now());
});
