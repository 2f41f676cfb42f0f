import { SessionCreated } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { newProfile, saveProfile, STATE } from "../../support/worker/profiles.ts";
import { call, clearFleet, json, newOrg, newPool } from "../../support/worker/gateway.ts";

describe("a session with a profile", async () => {
  const pool = await newPool();
  // One that is not heard for 15 s would be away.
  beforeEach(() => pool.beat());
  const { key } = await newOrg("starter");
  const create = async (profileId: string) => {
    const response = await call("/sessions", { ...json({ profileId }), bearer: key });
    return SessionCreated.parse(await response.json());
  };
  test("a session with a profile that was never saved has a storageStateUrl of null", async () => {
    const { id } = await newProfile(key, "new");
    const { storageStateUrl } = await create(id);
    expect(storageStateUrl).toEqual({ url: null, expiresInSeconds: 300 });
  });

  test("a session with a profile is handed to the pool with its state, and the client can fetch the same", async () => {
    const { id } = await newProfile(key, "saved");
    await saveProfile(key, id);
    const { sessionId, storageStateUrl } = await create(id);
    const url = new URL(storageStateUrl?.url ?? "");
    const response = await call(url.pathname);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual(STATE);
    const placed = (await pool.calls()).find(({ path }) => path.includes(sessionId));
    expect(placed?.body).toMatchObject({ profile: { statePath: url.pathname } });
  });
});

describe("a create with a profile", () => {
  /** Two pools that answer alike, and a create that asks them. */
  async function created(mode: Record<string, string>) {
    await clearFleet();
    const pools = [await newPool(), await newPool()];
    for (const pool of pools) await pool.steer(mode);
    const { key } = await newOrg("starter");
    const { id: profileId } = await newProfile(key);
    await saveProfile(key, profileId);
    const began = Date.now();
    const response = await call("/sessions", { ...json({ profileId }), bearer: key });
    const tookMs = Date.now() - began;
    const calls = await Promise.all(pools.map((pool) => pool.calls()));
    const asked = calls.flat().filter(({ method }) => method === "PUT").length;
    return { status: response.status, body: await response.json(), tookMs, asked };
  }

  test("that a pool cannot load is refused with the pool's word, and no other pool is asked", async () => {
    const body = { error: "The stored state cannot be loaded.", code: "ProfileUnloadable" };
    const mode = { put: "answer", status: "422", body: JSON.stringify(body) };
    expect(await created(mode)).toMatchObject({ status: 422, body, asked: 1 });
  });

  test("that a pool does not load now is refused with the pool's word, and no other pool is asked", async () => {
    const body = { error: "Too slow.", code: "ProfileUnavailable", retryable: true };
    const mode = { put: "answer", status: "502", body: JSON.stringify(body) };
    expect(await created(mode)).toMatchObject({ status: 502, body, asked: 1 });
  });

  test("of which a pool says nothing is refused once a load would be over, and no other pool is asked", async () => {
    const answer = await created({ put: "hang" });
    const body = { code: "ProfileUnavailable", retryable: true };
    expect(answer).toMatchObject({ status: 502, body, asked: 1 });
    // The pool has the whole time of a load, and what a host may take to answer.
    const { profileLoadMs, hostAnswerMs, acquireTimeoutMs } = LIMITS;
    expect(answer.tookMs).toBeGreaterThanOrEqual(profileLoadMs + hostAnswerMs);
    expect(answer.tookMs).toBeLessThan(acquireTimeoutMs + profileLoadMs + hostAnswerMs);
  });
});
