import { SessionCreated } from "@svc/contract/browser/session.ts";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { call, json, newOrg, newPool, slotOf } from "../../support/worker/gateway.ts";

describe("POST /sessions/:id/allowed-domains", async () => {
  const pool = await newPool();
  const kinds = {
    stealth: { idle: 9, busy: 0, recycling: 0 },
    fast: { idle: 9, busy: 0, recycling: 0 },
  };
  // One that is not heard for 15 s would be away.
  beforeEach(() => pool.beat({ kinds }));
  const { key } = await newOrg("professional");

  async function create(body: object): Promise<string> {
    const response = await call("/sessions", { ...json(body), bearer: key });
    return SessionCreated.parse(await response.json()).sessionId;
  }
  const set = (id: string, body: unknown) =>
    call(`/sessions/${id}/allowed-domains`, { ...json(body), bearer: key });
  const confined = () => create({ stealth: true, allowedDomains: ["A.com"] });

  test("is seeded at create, normalised, and echoed", async () => {
    const body = { stealth: true, allowedDomains: ["B.com.", "b.com", "a.com"] };
    const response = await call("/sessions", { ...json(body), bearer: key });
    const created = SessionCreated.parse(await response.json());
    expect(created.allowedDomains).toEqual(["b.com", "a.com"]);
    const placed = (await pool.calls()).find(({ path }) => path.includes(created.sessionId));
    expect(placed?.body).toMatchObject({ kind: "stealth", allowedDomains: ["b.com", "a.com"] });
  });

  test.each([
    [["C.com."], ["c.com"]],
    [[], []],
  ])("hands %j over as %j before it answers", async (domains, normalised) => {
    const id = await confined();
    const response = await set(id, { domains });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true, domains: normalised });
    const told = (await pool.calls()).find(({ path }) => path === `/slots/${id}/allowed-domains`);
    expect(told).toMatchObject({ method: "POST", body: { domains: normalised } });
  });

  test.each([{}, { domains: "a.com" }, { domains: ["*.a"] }, { domains: [5] }, { domains: null }])(
    "%j is 400",
    async (body) => {
      const response = await set(await confined(), body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "ValidationError" });
    },
  );

  test.each([
    ["a session that is not stealth", {}, "stealth"],
    ["one created without the field", { stealth: true }, "allowedDomains"],
    ["one created with null", { stealth: true, allowedDomains: null }, "allowedDomains"],
  ])("%s is 400 and says so", async (_name, body, word) => {
    const response = await set(await create(body), { domains: [] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: expect.stringContaining(word) });
  });

  test("a released session is 404 and nothing is handed over", async () => {
    const id = await confined();
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect((await set(id, { domains: [] })).status).toBe(404);
    const told = (await pool.calls()).filter(({ path }) => path === `/slots/${id}/allowed-domains`);
    expect(told).toEqual([]);
  });

  test("a pool that is away is 503 PoolUnreachable and retryable", async () => {
    const id = await confined();
    await pool.beat({ kinds, slots: [slotOf(id, { kind: "stealth" })] });
    const { bootId } = await pool.heartbeat();
    await env.SESSIONS.getByName(id).hostChanged(
      { hostId: pool.hostId, bootId },
      { type: "hostAway", seenAt: Date.now() },
    );
    const response = await set(id, { domains: [] });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "PoolUnreachable", retryable: true });
  });
});
