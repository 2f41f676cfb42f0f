import { env } from "cloudflare:workers";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterEach, describe, expect, test, vi } from "vitest";
import { fleet, registeredHosts } from "../../../durable-objects/fleet/registry.ts";
import type { HostDO } from "../../../durable-objects/host.ts";
import type { Active } from "../../../durable-objects/session/state.ts";
import { step, timers } from "../../../durable-objects/session/transitions.ts";
import { call, newOrg, newPool, newSession, slotOf } from "../../support/worker/gateway.ts";

const HOUR = 3_600_000;

afterEach(() => void vi.useRealTimers());

const jump = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });

async function placed() {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  const pool = await newPool();
  const { key, keyId } = await newOrg("professional", { sessionMinutes: 1440 });
  const id = await newSession(key);
  await pool.beat({ slots: [slotOf(id, { opens: 1 })] });
  const stub = env.SESSIONS.getByName(id);
  return { pool, key, keyId, id, stub, status: async () => (await stub.read())?.status };
}

/** An alarm as the runtime rings it: with the time it was set to, which tells how late it is. */
const ring = (host: DurableObjectStub<HostDO>) =>
  runInDurableObject(host, async (object, { storage }) => {
    const scheduledTime = (await storage.getAlarm()) ?? 0;
    await object.alarm({ isRetry: false, retryCount: 0, scheduledTime });
  });

describe("a gateway's clock that jumps", () => {
  test.each([HOUR, -HOUR])("by %i ms ends no session that is in use", async (ms) => {
    const { pool, id, stub, status } = await placed();
    jump(ms);
    expect(await status()).toBe("active");
    await runDurableObjectAlarm(stub);
    await ring(env.HOSTS.getByName(pool.hostId));
    expect(await status()).toBe("active");
    expect((await pool.beat({ slots: [slotOf(id, { opens: 1 })] })).end).toEqual([]);
    expect(await status()).toBe("active");
  });

  test("back keeps no session for longer than its grace from then on", async () => {
    const { pool, id, stub, status } = await placed();
    await pool.beat({ slots: [slotOf(id, { opens: 1, closes: 1, lastClose: "dropped" })] });
    jump(-HOUR);
    expect(await status()).toBe("active");
    jump(LIMITS.orphanGraceMs);
    expect(await status()).toBe("released");
    expect((await stub.read())?.closeReason).toBe("orphaned");
  });

  test("back trusts no key and no list of hosts until the clock has caught up", async () => {
    const { key, keyId } = await placed();
    const read = async () => (await call("/sessions", { bearer: key })).status;
    expect(await read()).toBe(200);
    const before = await registeredHosts(env);
    await env.DB.prepare("UPDATE api_keys SET revoked_at = 1 WHERE id = ?").bind(keyId).run();
    jump(-HOUR);
    expect(await read()).toBe(401);
    expect(await registeredHosts(env)).not.toBe(before);
  });
});

describe("a time that lies ahead of the clock", () => {
  const active: Active = {
    status: "active",
    expiresAt: 1e9,
    detached: null,
    awaySince: null,
    lease: null,
  };

  test.each<[string, Partial<Active>, number]>([
    ["never attached", { detached: { how: "never", since: 500 } }, 100 + LIMITS.orphanGraceMs],
    ["dropped", { detached: { how: "dropped", since: 500 } }, 100 + LIMITS.orphanGraceMs],
    ["closed", { detached: { how: "clean", since: 500 } }, 100 + LIMITS.lingerMs],
    ["its pool away", { awaySince: 500 }, 100 + LIMITS.orphanGraceMs],
    ["leased", { lease: { idleMs: 50, renewedAt: 500 } }, 150],
  ])("counts from now: %s", (_name, facts, at) => {
    const after = step({ ...active, ...facts }, { type: "tick" }, 100);
    const { expire: _expire, ...others } = timers(after);
    expect(Object.values(others)).toEqual([at]);
  });

  test("is no change while it is not ahead", () => {
    const state = { ...active, detached: { how: "never", since: 100 } } as const;
    expect(step(state, { type: "tick" }, 100)).toBe(state);
  });
});
