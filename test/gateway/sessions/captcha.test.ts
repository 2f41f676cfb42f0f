import { beforeEach, expect, test } from "vitest";
import {
  call,
  clearFleet,
  json,
  newOrg,
  newPool,
  type Pool,
} from "../../support/worker/gateway.ts";

const count = (idle: number) => ({ idle, busy: 0, recycling: 0 });
const kinds = { fast: count(9), stealth: count(9) };
const { key, orgId } = await newOrg("free");

async function create(body: object): Promise<unknown> {
  const response = await call("/sessions", { ...json({ stealth: true, ...body }), bearer: key });
  expect(response.status).toBe(201);
  const created = await response.json<{ sessionId: string; captcha?: unknown }>();
  await call(`/sessions/${created.sessionId}`, { method: "DELETE", bearer: key });
  return created.captcha;
}
const placedOn = async (pool: Pool): Promise<unknown[]> =>
  (await pool.calls())
    .filter(({ method, org }) => method === "PUT" && org === orgId)
    .map(({ body }) => body);

beforeEach(clearFleet);

test("captcha goes to a pool that solves, and the answer has the pool's word", async () => {
  const plain = await newPool({ kinds: { stealth: count(50) } });
  const solving = await newPool({ kinds, captcha: true });
  await solving.steer({ captcha: { active: true } });
  expect(await create({ captcha: true })).toEqual({ active: true });
  expect(await placedOn(solving)).toMatchObject([{ kind: "stealth", captcha: true }]);
  expect(await placedOn(plain)).toEqual([]);
});

test("captcha is inactive where the pool says so after all", async () => {
  const pool = await newPool({ kinds, captcha: true });
  await pool.steer({ captcha: { active: false } });
  expect(await create({ captcha: true })).toEqual({ active: false });
});

test("a pool that does not solve never hears of captcha, and its session is created", async () => {
  const pool = await newPool({ kinds, captcha: false });
  expect(await create({ captcha: true })).toEqual({ active: false });
  expect(await placedOn(pool)).toEqual([expect.not.objectContaining({ captcha: true })]);
});

test("a create without captcha asks for none, and is told of none", async () => {
  const pool = await newPool({ kinds, captcha: true });
  expect(await create({})).toBeUndefined();
  expect(await placedOn(pool)).toEqual([expect.not.objectContaining({ captcha: true })]);
});
