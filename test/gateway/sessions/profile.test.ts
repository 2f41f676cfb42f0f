import { SessionCreated } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { newProfile, saveProfile, STATE } from "../../support/worker/profiles.ts";
import { call, json, newOrg, newPool } from "../../support/worker/gateway.ts";

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
