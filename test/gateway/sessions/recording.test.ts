import { env } from "cloudflare:workers";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { replayState } from "../../../control-plane/replays.ts";
import { call, clearFleet, hastily, json, newOrg, newPool } from "../../support/worker/gateway.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const RECORDS = { keeps: ["recording"] };

beforeEach(clearFleet);

async function create(body: object, ask = call) {
  const org = await newOrg();
  const response = await ask("/sessions", { ...json(body), bearer: org.key });
  return { ...org, response };
}

/** How many rows there are of replays of an org. */
const rowsOf = async (orgId: string): Promise<unknown> =>
  (await env.DB.prepare("SELECT count(*) AS n FROM replays WHERE org_id = ?").bind(orgId).first())
    ?.n;

describe("a create with a recording", () => {
  test("goes to a pool that records, and its replay is pending from then on", async () => {
    const others = [await newPool({ keeps: [] }), await newPool({ keeps: ["allowedDomains"] })];
    const pool = await newPool(RECORDS);
    const { response, key } = await create({ recording: true });
    expect(response.status).toBe(201);
    const { sessionId } = SessionCreated.parse(await response.json());
    expect(await pool.calls()).toMatchObject([{ method: "PUT", body: { recording: {} } }]);
    for (const other of others) expect(await other.calls()).toEqual([]);
    const replay = await call(`/sessions/${sessionId}/replay-url`, { bearer: key });
    expect(await replay.json()).toMatchObject({ code: "ReplayPending", retryable: true });
  });

  test.each(["inputs", "all"])("passes the mask %s on", async (mask) => {
    const pool = await newPool(RECORDS);
    expect((await create({ recording: true, mask })).response.status).toBe(201);
    expect(await pool.calls()).toMatchObject([{ body: { recording: { mask } } }]);
  });

  test("with another mask is 400", async () => {
    const { response } = await create({ recording: true, mask: "none" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field: "mask" });
  });

  test("is 501 by its field where pools are registered and none records, and leaves nothing", async () => {
    const pool = await newPool({ keeps: ["allowedDomains"] });
    const { response, orgId } = await create({ recording: true });
    expect(response.status).toBe(501);
    expect(await response.json()).toMatchObject({ code: "NotConfigured", field: "recording" });
    expect(await pool.calls()).toEqual([]);
    await expect.poll(() => rowsOf(orgId)).toBe(0);
  });

  test("that finds no browser leaves no replay to wait for", async () => {
    const pool = await newPool(RECORDS);
    await pool.steer({ put: "full" });
    const { response, orgId } = await create({ recording: true }, hastily);
    expect(response.status).toBe(503);
    await expect.poll(() => rowsOf(orgId)).toBe(0);
  });

  test("is told of no pool before it begins where the create wants none", async () => {
    const pool = await newPool(RECORDS);
    const { response, orgId } = await create({});
    expect(response.status).toBe(201);
    expect((await pool.calls())[0]?.body).not.toHaveProperty("recording");
    expect(await rowsOf(orgId)).toBe(0);
  });
});

describe("a replay that was waited for", () => {
  test("for a day after the last moment of its session is none", async () => {
    await newPool(RECORDS);
    const { response, orgId } = await create({ recording: true });
    const { sessionId, expiresAt } = SessionCreated.parse(await response.json());
    const stateAt = (now: number) => replayState(env.DB, { orgId, sessionId }, now);
    const until = Date.parse(expiresAt) + LIMITS.replayPendingMs;
    expect(await stateAt(until - HOUR_MS)).toBe("pending");
    expect(await stateAt(until + HOUR_MS)).toBe("none");
  });

  test("and came is kept as long as the plan says, and is none then", async () => {
    await newPool(RECORDS);
    const { response, orgId } = await create({ recording: true });
    const { sessionId, expiresAt } = SessionCreated.parse(await response.json());
    await env.DB.prepare("UPDATE replays SET state = 'ready' WHERE session_id = ?")
      .bind(sessionId)
      .run();
    const stateAt = (now: number) => replayState(env.DB, { orgId, sessionId }, now);
    const until = Date.parse(expiresAt) + 30 * DAY_MS;
    expect(await stateAt(until - HOUR_MS)).toBe("ready");
    expect(await stateAt(until + HOUR_MS)).toBe("none");
  });
});
