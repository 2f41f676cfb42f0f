import { env } from "cloudflare:workers";
import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { fleet, registeredHosts } from "../../../durable-objects/fleet/registry.ts";
import { newOrg, newPool, newSession, type Pool, slotOf } from "../../support/worker/gateway.ts";

async function placed(): Promise<{ pool: Pool; id: string; orgId: string }> {
  // Alone in the fleet, so that the session can only be here.
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  const pool = await newPool();
  const { key, orgId } = await newOrg();
  return { pool, orgId, id: await newSession(key) };
}

const view = async (id: string) => env.SESSIONS.getByName(id).read();
const statusOf = async (id: string) => (await view(id))?.status;

describe("a heartbeat", () => {
  test("with the session keeps it", async () => {
    const { pool, id } = await placed();
    expect(await pool.beat({ slots: [slotOf(id)] })).toEqual({ end: [], pollMs: 5000 });
    expect(await statusOf(id)).toBe("active");
  });

  test("newer than the placement and without the session loses it", async () => {
    const { pool, id } = await placed();
    await pool.beat();
    // The host's object hears of a placement a second after it, or by a heartbeat that lists it.
    await vi.waitFor(async () => expect((await view(id))?.closeReason).toBe("pool_lost"), 30_000);
  });

  test("older than the placement says nothing of it", async () => {
    for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
    const pool = await newPool();
    const older = await pool.heartbeat();
    const id = await newSession((await newOrg()).key);
    await pool.post(older);
    await evictDurableObject(env.HOSTS.getByName(pool.hostId));
    expect(await statusOf(id)).toBe("active");
  });

  test("repeated or overtaken changes nothing", async () => {
    const { pool, id } = await placed();
    const old = await pool.heartbeat();
    await pool.beat({ slots: [slotOf(id)] });
    await pool.post(old);
    await pool.post(old);
    expect(await statusOf(id)).toBe("active");
  });

  test("of another start loses what was placed under the first", async () => {
    const { pool, id } = await placed();
    await pool.beat({ slots: [slotOf(id)] });
    await pool.beat({ bootId: "another-start", slots: [] });
    expect(await view(id)).toMatchObject({ status: "released", closeReason: "pool_lost" });
  });

  test("with a session of nobody is told to end it", async () => {
    const { pool, id } = await placed();
    const reply = await pool.beat({ slots: [slotOf(id), slotOf("stranger")] });
    expect(reply.end).toEqual(["stranger"]);
  });

  test("with a released session is told to end it", async () => {
    const { pool, id } = await placed();
    await pool.beat({ slots: [slotOf(id)] });
    await env.SESSIONS.getByName(id).release();
    await vi.waitFor(async () => {
      expect((await pool.beat({ slots: [slotOf(id)] })).end).toEqual([id]);
    }, 30_000);
  });

  test("tells of a crash: the session is released and its place is free", async () => {
    const { pool, id } = await placed();
    await pool.beat({ slots: [slotOf(id, { ended: "browser_crashed" })] });
    expect(await view(id)).toMatchObject({ status: "released", closeReason: "browser_crashed" });
  });
});

test("the fleet is written only when what it knows of a host has changed", async () => {
  const pool = await newPool();
  await fleet(env).remove(pool.hostId);
  await pool.beat();
  expect((await fleet(env).list()).map(({ hostId }) => hostId)).not.toContain(pool.hostId);
  await pool.beat({ kinds: { fast: { idle: 1, busy: 0, recycling: 0 } } });
  expect((await fleet(env).list()).map(({ hostId }) => hostId)).toContain(pool.hostId);
});

test("a list of hosts that was read before one registered is not held after it", async () => {
  let isRead = (): void => undefined;
  const read = new Promise<void>((resolve) => (isRead = resolve));
  let goOn = (): void => undefined;
  const wanted = new Promise<void>((resolve) => (goOn = resolve));
  /** The fleet, whose answers come late. */
  const FLEET = {
    idFromName: (name: string) => env.FLEET.idFromName(name),
    get: (id: DurableObjectId) => ({
      fetch: async (request: Request) => {
        const answer = await env.FLEET.get(id).fetch(request);
        isRead();
        await wanted;
        return answer;
      },
    }),
  } as unknown as Env["FLEET"];
  const known = async (hosts: ReturnType<typeof registeredHosts>) =>
    (await hosts).map(({ hostId }) => hostId);
  // So that nothing is held.
  await fleet(env).remove("nobody");
  const early = registeredHosts({ ...env, FLEET });
  await read;
  const pool = await newPool();
  goOn();
  expect(await known(early)).not.toContain(pool.hostId);
  expect(await known(registeredHosts(env))).toContain(pool.hostId);
});
