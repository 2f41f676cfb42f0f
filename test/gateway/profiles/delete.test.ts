import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newProfile, saveProfile, statesOf } from "../../support/worker/profiles.ts";
import { reapDiscarded } from "../../../control-plane/discarded.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";

const HOUR_MS = 3_600_000;

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

test("a delete of a profile that meets a save leaves no object that nothing names", async () => {
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
