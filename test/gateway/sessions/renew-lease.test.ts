import { Lease } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { call, json, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

describe("POST /sessions/:id/lease", async () => {
  const pool = await newPool();
  // One that is not heard for 15 s would be away.
  beforeEach(() => pool.beat());
  const { key } = await newOrg("starter");
  const renew = (id: string, body?: unknown) =>
    call(`/sessions/${id}/lease`, { ...(body ? json(body) : { method: "POST" }), bearer: key });

  test("renews a lease as it is, or by what the body says", async () => {
    const lease = { lease: { idleSeconds: 600 } };
    const made = await call("/sessions", { ...json(lease), bearer: key });
    const { sessionId } = await made.json<{ sessionId: string }>();
    for (const [body, idleSeconds] of [
      [undefined, 600],
      [{ idleSeconds: 60 }, 60],
      [undefined, 60],
    ] as const) {
      const before = Date.now();
      const response = await renew(sessionId, body);
      expect(response.status).toBe(200);
      const answer = Lease.parse(await response.json());
      expect(answer.idleSeconds).toBe(idleSeconds);
      const until = Date.parse(answer.leaseExpiresAt);
      expect(until).toBeGreaterThanOrEqual(before + idleSeconds * 1000);
      expect(until).toBeLessThanOrEqual(Date.now() + idleSeconds * 1000);
    }
  });

  test("gives a lease to a session without one only when it says how long", async () => {
    const id = await newSession(key);
    const response = await renew(id);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field: "idleSeconds" });
    expect((await renew(id, { idleSeconds: 500 })).status).toBe(200);
    expect((await renew(id)).status).toBe(200);
  });

  test("of an ended session is 409", async () => {
    const id = await newSession(key);
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    const response = await renew(id, { idleSeconds: 5 });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "NotRunning" });
  });

  test("a lease that is not renewed ends the session", async () => {
    const id = await newSession(key);
    await renew(id, { idleSeconds: 1 });
    await vi.waitFor(
      async () => {
        const record = await (await call(`/sessions/${id}`, { bearer: key })).json();
        expect(record).toMatchObject({ status: "released", closeReason: "lease_ended" });
      },
      { timeout: 30_000, interval: 100 },
    );
  });

  test.each([0, -1, 1.5, 86_401, "60", null])("idleSeconds %o is 400", async (idleSeconds) => {
    const id = await newSession(key);
    expect((await renew(id, { idleSeconds })).status).toBe(400);
    const create = await call("/sessions", { ...json({ lease: { idleSeconds } }), bearer: key });
    expect(create.status).toBe(400);
    expect(await create.json()).toMatchObject({ field: "lease.idleSeconds" });
  });

  test("a lease of null is none", async () => {
    const response = await call("/sessions", { ...json({ lease: null }), bearer: key });
    expect(response.status).toBe(201);
  });
});
