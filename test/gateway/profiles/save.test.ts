import { newProfile, saveProfile, STATE, statesOf } from "../../support/worker/profiles.ts";
import { env } from "cloudflare:workers";
import { ProfileList, ProfileSaved } from "@svc/contract/browser/profile.ts";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { reapDiscarded } from "../../../control-plane/discarded.ts";
import { lockForEditor, unlockFromEditor } from "../../../control-plane/profiles.ts";
import { app } from "../../../src/app.ts";
import { call, json, newOrg, newPool } from "../../support/worker/gateway.ts";

const HOUR_MS = 3_600_000;

describe("POST /profiles", () => {
  test("makes an empty profile, listed newest first in a bare array", async () => {
    const { key } = await newOrg();
    const first = await newProfile(key, "  first ");
    const second = await newProfile(key, "second");
    expect(first).toMatchObject({ name: "first", version: 0, sizeBytes: null, savedAt: null });
    await env.DB.prepare("UPDATE profiles SET created_at = created_at - 1 WHERE id = ?")
      .bind(first.id)
      .run();
    const list = ProfileList.parse(await (await call("/profiles", { bearer: key })).json());
    expect(list.map(({ id }) => id)).toEqual([second.id, first.id]);
  });

  test.each([
    ["not JSON", "{", "InvalidJson"],
    ["no name", "{}", "ValidationError"],
    ["a blank name", '{"name":"  "}', "ValidationError"],
    ["a name that is no string", '{"name":5}', "ValidationError"],
  ])("%s is 400", async (_name, body, code) => {
    const { key } = await newOrg();
    const response = await call("/profiles", { method: "POST", body, bearer: key });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code });
  });

  test("a name that is taken is 400, in another org it is free", async () => {
    const { key } = await newOrg();
    await newProfile(key);
    const response = await call("/profiles", { ...json({ name: "work" }), bearer: key });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field: "name" });
    await newProfile((await newOrg()).key);
  });

  test("of many at once exactly the plan's cap pass, the rest is 403 with plan and cap", async () => {
    const { key } = await newOrg("free");
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        call("/profiles", { ...json({ name: `p${n}` }), bearer: key }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    const refused = answers.find(({ status }) => status === 403);
    expect(await refused?.json()).toMatchObject({
      code: "PlanLimitExceeded",
      plan: "free",
      cap: 3,
    });
  });
});

describe("POST /profiles/:id/save", () => {
  test("stores the state as the next version and says where and how large", async () => {
    const { key } = await newOrg();
    const { id } = await newProfile(key);
    for (const version of [1, 2]) {
      const response = await saveProfile(key, id);
      expect(response.status).toBe(200);
      const saved = ProfileSaved.parse(await response.json());
      const text = JSON.stringify(STATE);
      expect(saved).toMatchObject({ profileId: id, version, sizeBytes: text.length });
      expect(await (await env.OBJECTS.get(saved.storageStateS3Key))?.text()).toBe(text);
    }
  });

  test.each([
    ["not JSON", "{"],
    ["no state", "{}"],
    ["a state that is a list", '{"storageState":[]}'],
    ["a state that is null", '{"storageState":null}'],
  ])("%s is 400", async (_name, body) => {
    const { key } = await newOrg();
    const { id } = await newProfile(key);
    const response = await call(`/profiles/${id}/save`, { method: "POST", body, bearer: key });
    expect(response.status).toBe(400);
  });

  test("a state above 1 MB is 413 with the limit and leaves the stored one untouched", async () => {
    const { key } = await newOrg();
    const { id } = await newProfile(key);
    await saveProfile(key, id);
    const before = await statesOf(id);
    const response = await saveProfile(key, id, { storageState: { x: "x".repeat(1_048_576) } });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ limit: 1_048_576 });
    expect(await statesOf(id)).toEqual(before);
  });

  test("of two at once one is a version conflict", async () => {
    const { key } = await newOrg();
    const { id } = await newProfile(key);
    const answers = await Promise.all([saveProfile(key, id), saveProfile(key, id)]);
    const [won, lost] = answers.toSorted((left, right) => left.status - right.status);
    expect([won?.status, lost?.status]).toEqual([200, 409]);
    expect(await lost?.json()).toMatchObject({ code: "ProfileVersionConflict" });
  });

  test.each([
    [
      "fails",
      502,
      "ControlPlaneUnavailable",
      { put: () => Promise.reject(new Error("R2 is down")) },
    ],
    ["is not bound", 503, "ControlPlaneNotConfigured", undefined],
  ])(
    "while R2 %s is %i and leaves the stored version untouched",
    async (_name, status, code, OBJECTS) => {
      const { key } = await newOrg();
      const { id } = await newProfile(key);
      await saveProfile(key, id);
      const headers = { authorization: `Bearer ${key}` };
      const init = { ...json({ storageState: {} }), headers };
      const response = await app.request(`/profiles/${id}/save`, init, { ...env, OBJECTS });
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ code, retryable: true });
      const [profile] = ProfileList.parse(await (await call("/profiles", { bearer: key })).json());
      expect(profile?.version).toBe(1);
    },
  );
});

test.each([
  [
    "fails",
    502,
    {
      prepare: () => {
        throw new Error("D1 is down");
      },
    },
  ],
  ["is not bound", 503, undefined],
])(
  "while D1 %s every profile route is %i for a key in use, and so is a create with a profile",
  async (_name, status, DB) => {
    const { key } = await newOrg();
    await call("/sessions", { bearer: key });
    const headers = { authorization: `Bearer ${key}` };
    const ask = (path: string, init = {}) =>
      app.request(path, { ...init, headers }, { ...env, DB });
    const answers = [
      await ask("/profiles"),
      await ask("/profiles", json({ name: "a" })),
      await ask("/profiles/x", { method: "DELETE" }),
      await ask("/profiles/x/save", json({ storageState: {} })),
      await ask("/sessions", json({ profileId: "x" })),
      await ask("/sessions/x/replay-url"),
    ];
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => status));
    for (const answer of answers) expect(await answer.json()).toMatchObject({ retryable: true });
  },
);

describe("the editor's lease", () => {
  test("makes save and delete 409, until it is given back or lapses", async () => {
    const { key, orgId } = await newOrg();
    const { id } = await newProfile(key);
    const remove = () => call(`/profiles/${id}`, { method: "DELETE", bearer: key });
    await lockForEditor(env.DB, orgId, id, Date.now());
    for (const refused of [await saveProfile(key, id), await remove()]) {
      expect(refused.status).toBe(409);
      expect(await refused.json()).toMatchObject({ code: "ProfileLocked" });
    }
    await unlockFromEditor(env.DB, orgId, id);
    expect((await saveProfile(key, id)).status).toBe(200);
    // Its holder died more than a minute ago.
    await lockForEditor(env.DB, orgId, id, Date.now() - 60_000);
    expect((await remove()).status).toBe(204);
  });
});

test("a deleted profile is gone, and its objects with the next reaping that may", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  await saveProfile(key, id);
  await saveProfile(key, id);
  expect((await call(`/profiles/${id}`, { method: "DELETE", bearer: key })).status).toBe(204);
  expect((await call(`/profiles/${id}`, { method: "DELETE", bearer: key })).status).toBe(404);
  expect((await saveProfile(key, id)).status).toBe(404);
  // A URL minted just before may still be in use.
  await reapDiscarded(env.DB, env.OBJECTS, Date.now());
  expect(await statesOf(id)).toHaveLength(2);
  await reapDiscarded(env.DB, env.OBJECTS, Date.now() + HOUR_MS);
  expect(await statesOf(id)).toEqual([]);
});

test("a delete that meets a save leaves no object that nothing names", async () => {
  const { key } = await newOrg();
  for (let n = 0; n < 5; n += 1) {
    const { id } = await newProfile(key);
    await saveProfile(key, id);
    const remove = call(`/profiles/${id}`, { method: "DELETE", bearer: key });
    await Promise.all([saveProfile(key, id), remove]);
    await call(`/profiles/${id}`, { method: "DELETE", bearer: key });
    await reapDiscarded(env.DB, env.OBJECTS, Date.now() + HOUR_MS);
    expect(await statesOf(id)).toEqual([]);
  }
});

test("reaping leaves what a row names", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const saved = ProfileSaved.parse(await (await saveProfile(key, id)).json());
  await reapDiscarded(env.DB, env.OBJECTS, Date.now() + HOUR_MS);
  expect(await statesOf(id)).toEqual([saved.storageStateS3Key]);
});

test("another org's profile is 404 everywhere", async () => {
  const { id } = await newProfile((await newOrg()).key);
  const { key } = await newOrg();
  const answers = [
    await saveProfile(key, id),
    await call(`/profiles/${id}`, { method: "DELETE", bearer: key }),
    await call("/sessions", { ...json({ profileId: id }), bearer: key }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  for (const answer of answers)
    expect(await answer.json()).toMatchObject({ code: "ProfileNotFound" });
});

describe("a session with a profile", async () => {
  const pool = await newPool();
  // One that is not heard for 15 s would be away.
  beforeEach(() => pool.beat());
  const { key } = await newOrg("starter");
  const create = async (profileId: string) => {
    const response = await call("/sessions", { ...json({ profileId }), bearer: key });
    return SessionCreated.parse(await response.json());
  };

  test("that was never saved has a storageStateUrl of null", async () => {
    const { id } = await newProfile(key, "new");
    const { storageStateUrl } = await create(id);
    expect(storageStateUrl).toEqual({ url: null, expiresInSeconds: 300 });
  });

  test("is handed to the pool with its state, and the client can fetch the same", async () => {
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

test.each(["x", "a.b", "%00"])("an object URL of %o is 404", async (token) => {
  expect((await call(`/objects/${token}`)).status).toBe(404);
});
