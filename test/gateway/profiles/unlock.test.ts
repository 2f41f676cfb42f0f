import { ProfileLock } from "@svc/contract/browser/profile.ts";
import { expect, test } from "vitest";
import { call, codeOf, json, newOrg } from "../../support/worker/gateway.ts";
import { newProfile, saveProfile } from "../../support/worker/profiles.ts";

test("a lease that is given back frees the profile; another one frees nothing", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  const path = `/profiles/${id}/lock`;
  const answer = await call(path, { ...json({}), bearer: key });
  const { lease } = ProfileLock.parse(await answer.json());
  const unlock = (shown: string, bearer = key) =>
    call(path, { ...json({ lease: shown }, "DELETE"), bearer });
  expect(await codeOf(await unlock("another"))).toEqual({ status: 409, code: "ProfileLocked" });
  expect((await unlock(lease)).status).toBe(204);
  expect((await saveProfile(key, id)).status).toBe(200);
  // It has ended already.
  expect((await unlock(lease)).status).toBe(204);
  const { key: stranger } = await newOrg();
  expect(await codeOf(await unlock(lease, stranger))).toEqual({
    status: 404,
    code: "ProfileNotFound",
  });
});
