import { env } from "cloudflare:workers";
import { runDurableObjectAlarm } from "cloudflare:test";
import { SlotHandoff } from "@svc/contract/host-protocol/slots.ts";
import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  type Pool,
  call,
  clearFleet,
  codeOf,
  json,
  newOrg,
  newPool,
} from "../../support/worker/gateway.ts";

const PATIENCE = { timeout: 30_000, interval: 50 };
const UNTOLD = { status: 503, code: "PoolUnreachable" };

describe("a hand-off of a recorded session", async () => {
  let pool: Pool;
  const { key } = await newOrg("professional");
  beforeEach(async () => {
    await clearFleet();
    pool = await newPool({ keeps: ["recording"] });
  });

  async function session(wish: object = { recording: true }): Promise<string> {
    const made = await call("/sessions", { ...json(wish), bearer: key });
    return SessionCreated.parse(await made.json()).sessionId;
  }
  const begin = (id: string, route = "handoffs"): Promise<Response> =>
    call(`/sessions/${id}/${route}`, { ...json({}), bearer: key });
  const begun = async (id: string): Promise<string> =>
    HandoffBegun.parse(await (await begin(id)).json()).handoff.id;
  const cancel = (id: string, handoff: string): Promise<Response> =>
    call(`/sessions/${id}/handoffs/${handoff}`, { method: "DELETE", bearer: key });

  /** What the pool was told of the hand-offs of a session. */
  async function told(id: string): Promise<SlotHandoff[]> {
    const path = `/slots/${encodeURIComponent(id)}/handoff`;
    const calls = (await pool.calls()).filter((each) => each.path === path);
    return calls.map(({ body }) => SlotHandoff.parse(body));
  }
  const hasTold = (id: string, expected: SlotHandoff[]): Promise<void> =>
    vi.waitFor(async () => expect(await told(id)).toEqual(expected), PATIENCE);

  test("is told to its pool before anybody gets it, and when it is over, each by its number", async () => {
    const id = await session();
    const first = await begun(id);
    expect(await told(id)).toEqual([{ seq: 2, isOpen: true }]);
    // Who joins it is given a token only once the pool has been told.
    expect((await begin(id, "live-token")).status).toBe(200);
    expect(await told(id)).toEqual([
      { seq: 2, isOpen: true },
      { seq: 2, isOpen: true },
    ]);
    await cancel(id, first);
    await vi.waitFor(async () => expect((await told(id)).at(-1)?.seq).toBe(3), PATIENCE);
    await begun(id);
    expect((await told(id)).slice(2)).toEqual([
      { seq: 3, isOpen: false },
      { seq: 4, isOpen: true },
    ]);
  });

  test.each(["handoffs", "live-token"])(
    "does not begin by %s where the pool does not know of it",
    async (route) => {
      const id = await session();
      await pool.steer({ handoff: "missing" });
      expect(await codeOf(await begin(id, route))).toEqual(UNTOLD);
      await hasTold(id, [
        { seq: 2, isOpen: true },
        { seq: 3, isOpen: false },
      ]);
      expect((await env.SESSIONS.getByName(id).read())?.handoff?.status).toBe("cancelled");
      await pool.steer({});
      await begun(id);
      expect((await told(id)).at(-1)).toEqual({ seq: 4, isOpen: true });
    },
  );

  test("does not begin while its pool does not answer, whose end is told again until it is heard", async () => {
    const id = await session();
    await pool.steer({ handoff: "hang" });
    expect(await codeOf(await begin(id))).toEqual(UNTOLD);
    await vi.waitFor(async () => expect((await told(id)).at(-1)?.seq).toBe(3), PATIENCE);
    const before = (await told(id)).length;
    await pool.steer({});
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(env.SESSIONS.getByName(id));
      expect((await told(id)).length).toBeGreaterThan(before);
    }, PATIENCE);
    expect((await told(id)).at(-1)).toEqual({ seq: 3, isOpen: false });
  });

  test("does not begin while its pool is away, which is told of its end when it is back", async () => {
    const id = await session();
    const object = env.SESSIONS.getByName(id);
    const { hostId } = pool;
    const { bootId } = await pool.steer({});
    await object.hostChanged({ hostId, bootId }, { type: "hostAway", seenAt: Date.now() });
    await pool.steer({ handoff: "hang" });
    expect(await codeOf(await begin(id))).toEqual(UNTOLD);
    expect((await told(id)).filter(({ isOpen }) => isOpen)).toEqual([]);
    await pool.steer({});
    await object.hostChanged({ hostId, bootId }, { type: "hostBack", seenAt: Date.now() });
    await begun(id);
    expect((await told(id)).at(-1)).toEqual({ seq: 4, isOpen: true });
  });

  test("of a session without a recording tells its pool nothing", async () => {
    const id = await session({});
    await pool.steer({ handoff: "missing" });
    await cancel(id, await begun(id));
    expect(await told(id)).toEqual([]);
  });
});
