import { PROXY_COUNTRIES, type ProxyApplied } from "@svc/contract/browser/proxy.ts";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { EXIT_TRAITS, type ExitOffer, type Rung } from "@svc/contract/host-protocol/exits.ts";
import { beforeEach, describe, expect, test } from "vitest";
import {
  call,
  clearFleet,
  json,
  newOrg,
  newPool,
  slotOf,
  type Pool,
} from "../../support/worker/gateway.ts";

const count = (idle: number) => ({ idle, busy: 0, recycling: 0 });
const kinds = { fast: count(9), stealth: count(9) };
const offer = (tier: ExitOffer["tier"]): ExitOffer => ({
  tier,
  countries: [...PROXY_COUNTRIES],
  traits: [...EXIT_TRAITS],
});
const { key, orgId } = await newOrg("professional");

async function create(body: object): Promise<{ status: number; answer: unknown }> {
  const response = await call("/sessions", { ...json({ stealth: true, ...body }), bearer: key });
  return { status: response.status, answer: await response.json() };
}
const placedOn = async (pool: Pool): Promise<unknown[]> =>
  (await pool.calls())
    .filter(({ method, org }) => method === "PUT" && org === orgId)
    .map(({ body }) => body);

beforeEach(clearFleet);

describe("a proxy of a create", () => {
  const none = { country: null, tier: null, sticky: null, state: null, city: null, asn: null };

  test.each([
    ["smart", "smart"],
    ["de", { ...none, country: "de" }],
    [{}, none],
    [{ tier: "isp" }, { ...none, tier: "static" }],
    [
      { session: "a", sessionDuration: 5 },
      { ...none, sticky: { session: "a", minutes: 5 } },
    ],
    [{ state: "ca" }, { ...none, country: "us", state: "ca" }],
    [
      { asn: "AS7922", city: "Boston" },
      { ...none, country: "us", city: "Boston", asn: "AS7922" },
    ],
  ])("of %j is handed to the pool as it was wished", async (proxy, wish) => {
    const pool = await newPool({ kinds, exits: [offer("residential"), offer("static")] });
    expect((await create({ proxy })).status).toBe(201);
    expect(await placedOn(pool)).toMatchObject([{ kind: "stealth", proxy: wish }]);
  });

  test("that is off is not handed over", async () => {
    const pool = await newPool({ kinds, exits: [offer("residential")] });
    await create({ proxy: "off" });
    expect(await placedOn(pool)).toEqual([
      expect.not.objectContaining({ proxy: expect.anything() }),
    ]);
  });

  test("is in the answer when the pool has applied it, and not when it has not", async () => {
    const pool = await newPool({ kinds, exits: [offer("mobile")] });
    const proxy: ProxyApplied = { tier: "mobile", country: "de", timezoneId: "Europe/Berlin" };
    await pool.steer({ proxy });
    expect(await create({ proxy: "de" })).toMatchObject({ status: 201, answer: { proxy } });
    await pool.steer({});
    const { status, answer } = await create({ proxy: "de" });
    expect(status).toBe(201);
    expect(answer).not.toHaveProperty("proxy");
  });

  test("goes to a pool that has such an exit, though others are emptier", async () => {
    const others = [
      await newPool({ kinds: { stealth: count(99) } }),
      await newPool({ kinds: { stealth: count(99) }, exits: [offer("static")] }),
      await newPool({
        kinds: { stealth: count(99) },
        exits: [{ ...offer("mobile"), countries: ["de"] }],
      }),
      await newPool({ kinds: { stealth: count(99) }, exits: [{ ...offer("mobile"), traits: [] }] }),
    ];
    const having = await newPool({ kinds: { stealth: count(1) }, exits: [offer("mobile")] });
    expect((await create({ proxy: { country: "us", tier: "mobile", asn: "1" } })).status).toBe(201);
    expect(await placedOn(having)).toHaveLength(1);
    for (const other of others) expect(await placedOn(other)).toEqual([]);
  });

  test("that no pool has is created all the same", async () => {
    const pool = await newPool({ kinds, exits: [offer("static")] });
    const { status, answer } = await create({ proxy: { tier: "mobile" } });
    expect(status).toBe(201);
    expect(answer).not.toHaveProperty("proxy");
    expect(await placedOn(pool)).toHaveLength(1);
  });
});

describe("the ladder", () => {
  test("goes to a pool that has a rung of it, though others are emptier", async () => {
    const others = [
      await newPool({ kinds: { stealth: count(99) } }),
      await newPool({ kinds: { stealth: count(99) }, exits: [offer("static")] }),
    ];
    const having = await newPool({ kinds: { stealth: count(1) }, exits: [offer("residential")] });
    expect((await create({ proxy: "smart" })).status).toBe(201);
    expect(await placedOn(having)).toHaveLength(1);
    for (const other of others) expect(await placedOn(other)).toEqual([]);
  });
});

describe("GET /sessions/:id", () => {
  const exit: ProxyApplied = { tier: "mobile", country: "de", timezoneId: "Europe/Berlin" };
  const read = async (id: string): Promise<unknown> =>
    (await call(`/sessions/${id}`, { bearer: key })).json();
  async function created(proxy: unknown): Promise<string> {
    return SessionCreated.parse((await create({ proxy })).answer).sessionId;
  }

  test("has the exit that was applied, as long as the session lives", async () => {
    const pool = await newPool({ kinds, exits: [offer("mobile")] });
    await pool.steer({ proxy: exit });
    const id = await created("de");
    expect(await read(id)).toMatchObject({ status: "active", proxy: exit });
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect(await read(id)).not.toHaveProperty("proxy");
  });

  test("has each rung that the ladder has climbed to, and why, also after a heartbeat without news", async () => {
    const pool = await newPool({ kinds, exits: [offer("mobile"), offer("residential")] });
    const id = await created("smart");
    expect(await read(id)).not.toHaveProperty("proxy");
    const mobile = { ...exit, reason: "status 403", at: 1_000 };
    const residential = {
      ...mobile,
      tier: "residential" as const,
      reason: "status 429",
      at: 2_000,
    };
    const told = (...rungs: Rung[]) =>
      pool.beat({ kinds, slots: [slotOf(id, { kind: "stealth", rungs })] });
    await told(mobile);
    expect(await read(id)).toMatchObject({
      proxy: exit,
      proxyRungs: [{ tier: "mobile", reason: "status 403", at: "1970-01-01T00:00:01.000Z" }],
    });
    await told(mobile, residential);
    await told(mobile, residential);
    expect(await read(id)).toMatchObject({
      proxy: { ...exit, tier: "residential" },
      proxyRungs: [
        { tier: "mobile", reason: "status 403" },
        { tier: "residential", reason: "status 429" },
      ],
    });
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    const ended = await read(id);
    expect(ended).toMatchObject({ status: "released" });
    expect(ended).not.toHaveProperty("proxy");
  });
});
