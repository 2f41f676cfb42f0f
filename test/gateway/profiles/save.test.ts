import { env } from "cloudflare:workers";
import { ProfileList, ProfileSaved } from "@svc/contract/browser/profile.ts";
import { describe, expect, test } from "vitest";
import {
  lockForEditor,
  newProfile,
  saveProfile,
  STATE,
  statesOf,
} from "../../support/worker/profiles.ts";
import { reapDiscarded } from "../../../control-plane/discarded.ts";
import { app } from "../../../src/app.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";

const HOUR_MS = 3_600_000;

const DEEP = '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000);

test("a save stores the state as the next version and says where and how large", async () => {
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
])("a save of %s is 400", async (_name, body) => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const response = await call(`/profiles/${id}/save`, { method: "POST", body, bearer: key });
  expect(response.status).toBe(400);
});

test.each([
  ["storageState.cookies", { cookies: {} }],
  ["storageState.cookies.0.sameSite", { cookies: [{ ...STATE.cookies[0], sameSite: "lax" }] }],
  ["storageState.origins.1.origin", { origins: [{ origin: "https://a.test" }, { origin: "a" }] }],
])(
  "a save of a state that no browser can load is 400 with the field %s, and the stored one stays",
  async (field, storageState) => {
    const { key } = await newOrg();
    const { id } = await newProfile(key);
    await saveProfile(key, id);
    const before = await statesOf(id);
    const response = await saveProfile(key, id, { storageState });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field });
    expect(await statesOf(id)).toEqual(before);
  },
);

test("a save of a state that is below 1 MB as it comes and above it as it is stored is 413", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const body = `{"storageState":{"x":[${Array.from({ length: 100_000 }, () => "1e20").join()}]}}`;
  const response = await call(`/profiles/${id}/save`, { method: "POST", body, bearer: key });
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ limit: 1_048_576 });
  expect(await statesOf(id)).toEqual([]);
});

test("a save of a state above 1 MB is 413 with the limit and leaves the stored one untouched", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  await saveProfile(key, id);
  const before = await statesOf(id);
  const response = await saveProfile(key, id, { storageState: { x: "x".repeat(1_048_576) } });
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ limit: 1_048_576 });
  expect(await statesOf(id)).toEqual(before);
});

test("of two saves at once one is a version conflict", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const answers = await Promise.all([saveProfile(key, id), saveProfile(key, id)]);
  const [won, lost] = answers.toSorted((left, right) => left.status - right.status);
  expect([won?.status, lost?.status]).toEqual([200, 409]);
  expect(await lost?.json()).toMatchObject({ code: "ProfileVersionConflict" });
});

test.each([
  ["fails", 502, "ControlPlaneUnavailable", { put: () => Promise.reject(new Error("R2 is down")) }],
  ["is not bound", 503, "ControlPlaneNotConfigured", undefined],
])(
  "a save while R2 %s is %i and leaves the stored version untouched",
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

test("the editor's lease makes save and delete 409, until it is given back or lapses", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const remove = () => call(`/profiles/${id}`, { method: "DELETE", bearer: key });
  await lockForEditor(id, Date.now() + HOUR_MS);
  for (const refused of [await saveProfile(key, id), await remove()]) {
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ code: "ProfileLocked" });
  }
  await lockForEditor(id, null);
  expect((await saveProfile(key, id)).status).toBe(200);
  // The lease has lapsed.
  await lockForEditor(id, Date.now() - 1);
  expect((await remove()).status).toBe(204);
});

test("reaping leaves the state that a profile names", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const saved = ProfileSaved.parse(await (await saveProfile(key, id)).json());
  await reapDiscarded(env.DB, env.OBJECTS, Date.now() + HOUR_MS);
  expect(await statesOf(id)).toEqual([saved.storageStateS3Key]);
});

describe("POST /profiles/:id/save", async () => {
  const { key } = await newOrg();
  const made = await call("/profiles", { ...json({ name: "work" }), bearer: key });
  const { id } = await made.json<{ id: string }>();
  const save = (state: string) =>
    call(`/profiles/${id}/save`, {
      method: "POST",
      body: `{"storageState":${state}}`,
      bearer: key,
    });
  test.each([
    ["deep", DEEP],
    ["of odd keys", '{"__proto__":{"a":1},"":2,"constructor":3}'],
    ["of odd text", '{"a":"\\ud800\\u0000🦄"}'],
  ])("a state that is %s is stored", async (_name, state) => {
    expect((await save(state)).status).toBe(200);
  });

  test("a state of 100,000 levels is stored or refused, never a fault", async () => {
    const deepest = '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000);
    expect([200, 400]).toContain((await save(deepest)).status);
  });
});
