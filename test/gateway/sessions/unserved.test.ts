import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { call, hastily, json, newOrg, newPool, type Pool } from "../../support/worker/gateway.ts";

const idle = { idle: 9, busy: 0, recycling: 0 };
let pool: Pool;

beforeEach(async () => {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  pool = await newPool();
});

async function create(body: object, ask = call) {
  const { key, orgId } = await newOrg("professional");
  const response = await ask("/sessions", { ...json({ stealth: true, ...body }), bearer: key });
  const answer: unknown = await response.json();
  const placed = (await pool.calls()).filter(({ org }) => org === orgId);
  return { status: response.status, answer, placed };
}

describe("what a pool has no means for never fails a stealth create", () => {
  beforeEach(() => pool.beat({ kinds: { fast: idle, stealth: idle } }));

  test.each([
    "smart",
    "us",
    {},
    { tier: "residential" },
    { tier: "mobile", country: "jp" },
    { tier: "isp" },
    { session: "a", sessionDuration: 5 },
  ])("a proxy of %j is left out of the answer", async (proxy) => {
    const { status, answer, placed } = await create({ proxy });
    expect(status).toBe(201);
    expect(answer).not.toHaveProperty("proxy");
    expect(placed).toMatchObject([{ method: "PUT", body: { kind: "stealth" } }]);
  });

  test("captcha without a solver is said to be inactive", async () => {
    const { status, answer } = await create({ captcha: true });
    expect(status).toBe(201);
    expect(answer).toMatchObject({ captcha: { active: false } });
  });
});

test.each([{}, { captcha: true }, { proxy: "smart" }, { allowedDomains: ["a.example"] }])(
  "without a stealth pool a stealth create with %j is 503 with a hint, and no fast browser is taken for it",
  async (body) => {
    const { status, answer, placed } = await create(body, hastily);
    expect(status).toBe(503);
    expect(answer).toMatchObject({
      code: "AcquireTimeout",
      retryable: true,
      hint: expect.stringContaining("stealth"),
    });
    expect(placed).toEqual([]);
  },
);
