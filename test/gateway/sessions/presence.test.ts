import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, test, vi } from "vitest";
import type { StoredSession } from "../../../durable-objects/session/record.ts";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { call, json, newOrg, newPool, slotOf } from "../../support/worker/gateway.ts";

async function placed(body: object = {}) {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  const pool = await newPool();
  const { key } = await newOrg("free", { browsers: 1 });
  const create = () => call("/sessions", { ...json(body), bearer: key });
  const { sessionId: id } = SessionCreated.parse(await (await create()).json());
  await pool.beat({ slots: [slotOf(id, { opens: 1 })] });
  const stub = env.SESSIONS.getByName(id);
  const stored = () =>
    runInDurableObject(stub, (_object, state) => state.storage.kv.get<StoredSession>("session"));
  const alarm = () => runInDurableObject(stub, (_object, state) => state.storage.getAlarm());
  return { pool, key, id, stub, stored, alarm, create };
}

describe("a session without a client", () => {
  test.each(["never", "dropped"] as const)(
    "(%s attached) is orphaned by its alarm after the grace, and its slot is free",
    async (how) => {
      const { stub, stored, create } = await placed();
      await runInDurableObject(stub, (_object, state) => {
        const session = state.storage.kv.get<StoredSession>("session");
        if (session?.state.status !== "active") throw new Error("not active");
        const detached = { how, since: Date.now() - LIMITS.orphanGraceMs };
        state.storage.kv.put("session", { ...session, state: { ...session.state, detached } });
      });
      // One that rings just now for something else cannot be made to ring.
      await vi.waitFor(async () => {
        await runDurableObjectAlarm(stub);
        expect((await stored())?.state).toMatchObject({ status: "released", reason: "orphaned" });
      }, 30_000);
      await vi.waitFor(async () => expect((await create()).status).toBe(201), 30_000);
    },
  );

  test("whose connection broke has the whole grace to come back", async () => {
    const { pool, id, key, alarm } = await placed();
    await pool.beat({ slots: [slotOf(id, { opens: 1, closes: 1, lastClose: "dropped" })] });
    const graceEnds = Date.now() + LIMITS.orphanGraceMs;
    await vi.waitFor(async () => {
      const at = (await alarm()) ?? 0;
      expect(Math.abs(at - graceEnds)).toBeLessThan(30_000);
    }, 30_000);
    const record = await call(`/sessions/${id}`, { bearer: key });
    expect(await record.json()).toMatchObject({ status: "active" });
  });
});

test.each(["clean", "dropped"])(
  "a session with a lease minds no client that goes (%s): only the lease ends it",
  async (lastClose) => {
    const { pool, id, stub, alarm } = await placed({ lease: { idleSeconds: 3000 } });
    await pool.beat({ slots: [slotOf(id, { opens: 1, closes: 1, lastClose })] });
    const leaseEnds = Date.now() + 3_000_000;
    await vi.waitFor(async () => {
      const at = (await alarm()) ?? 0;
      expect(Math.abs(at - leaseEnds)).toBeLessThan(30_000);
    }, 30_000);
    await runDurableObjectAlarm(stub);
    expect(await stub.read()).toMatchObject({ status: "active" });
  },
);

test("a session that still waits for its slot is active over HTTP, unless it was released here", async () => {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  await (await newPool()).steer({ put: "full" });
  const { key, orgId } = await newOrg();
  const waiting = call("/sessions", { method: "POST", bearer: key });
  const page = { limit: 1, cursor: null, status: null };
  const ids = async () =>
    (await env.ORGS.getByName(orgId).sessions(page)).lines.map(({ id }) => id);
  await vi.waitFor(async () => expect(await ids()).toHaveLength(1), 30_000);
  const [id] = await ids();
  const read = async () => (await call(`/sessions/${id}`, { bearer: key })).json();
  expect(await read()).toMatchObject({ status: "active" });
  expect((await call(`/sessions/${id}`, { method: "DELETE", bearer: key })).status).toBe(204);
  expect(await read()).toMatchObject({ status: "released" });
  expect((await waiting).status).toBe(503);
});
