import { ProfileLock } from "@svc/contract/browser/profile.ts";
import { expect, test } from "vitest";
import { call, codeOf, json, newOrg } from "../../support/worker/gateway.ts";
import { lockForEditor, newProfile, saveProfile, STATE } from "../../support/worker/profiles.ts";

const LOCKED = { status: 409, code: "ProfileLocked" };

async function opened() {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const lock = (body: object = {}) => call(`/profiles/${id}/lock`, { ...json(body), bearer: key });
  return { key, id, lock };
}

test("a lock lasts as long as its lease says, 60 s by default, and its holder renews it", async () => {
  const { lock } = await opened();
  const began = Date.now();
  const first = ProfileLock.parse(await (await lock()).json());
  expect(first.idleSeconds).toBe(60);
  expect(Date.parse(first.leaseExpiresAt) - began).toBeGreaterThanOrEqual(60_000);
  const renewed = await (await lock({ lease: first.lease, idleSeconds: 600 })).json();
  expect(renewed).toMatchObject({ lease: first.lease, idleSeconds: 600 });
  expect(ProfileLock.parse(renewed).leaseExpiresAt > first.leaseExpiresAt).toBe(true);
});

test("while it lasts, others' locks, saves and deletes are 409, and its holder saves", async () => {
  const { key, id, lock } = await opened();
  const { lease } = ProfileLock.parse(await (await lock()).json());
  const remove = () => call(`/profiles/${id}`, { method: "DELETE", bearer: key });
  const others = [
    lock(),
    lock({ lease: "another" }),
    saveProfile(key, id),
    saveProfile(key, id, { storageState: STATE, lease: "another" }),
    remove(),
  ];
  for (const refused of await Promise.all(others)) expect(await codeOf(refused)).toEqual(LOCKED);
  expect((await saveProfile(key, id, { storageState: STATE, lease })).status).toBe(200);
});

test("of two editors that come at once one has the profile", async () => {
  const { lock } = await opened();
  const answers = await Promise.all([lock(), lock()]);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(1);
});

test("a holder that is gone loses the profile with its lease", async () => {
  const { key, id, lock } = await opened();
  const { lease } = ProfileLock.parse(await (await lock()).json());
  await lockForEditor(id, Date.now() - 1);
  expect((await saveProfile(key, id)).status).toBe(200);
  expect((await lock()).status).toBe(200);
  // Somebody else's by now.
  expect(await codeOf(await lock({ lease }))).toEqual(LOCKED);
  expect(await codeOf(await saveProfile(key, id, { storageState: STATE, lease }))).toEqual(LOCKED);
});

test.each([{ idleSeconds: 0 }, { idleSeconds: 3601 }, { idleSeconds: 1.5 }, { lease: "" }])(
  "%j is 400",
  async (body) => {
    const { lock } = await opened();
    expect(await codeOf(await lock(body))).toEqual({ status: 400, code: "ValidationError" });
  },
);

test("a profile of another org is 404", async () => {
  const { id } = await opened();
  const { key } = await newOrg();
  const response = await call(`/profiles/${id}/lock`, { ...json({}), bearer: key });
  expect(await codeOf(response)).toEqual({ status: 404, code: "ProfileNotFound" });
});
