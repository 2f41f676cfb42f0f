import { env } from "cloudflare:workers";
import { ProfileVersions } from "@svc/contract/browser/profile.ts";
import { expect, test } from "vitest";
import { reapDiscarded } from "../../../control-plane/discarded.ts";
import { call, codeOf, newOrg } from "../../support/worker/gateway.ts";
import { newProfile, saveProfile, statesOf } from "../../support/worker/profiles.ts";

const HOUR_MS = 3_600_000;

test("a profile has as many versions as the plan keeps, newest first, and the others are reaped", async () => {
  const { key } = await newOrg("free", { profileVersions: 2 });
  const { id } = await newProfile(key);
  const list = async () => {
    const response = await call(`/profiles/${id}/versions`, { bearer: key });
    return ProfileVersions.parse(await response.json()).versions;
  };
  expect(await list()).toEqual([]);
  for (let n = 0; n < 4; n += 1) await saveProfile(key, id);
  expect((await list()).map(({ version, isCurrent }) => [version, isCurrent])).toEqual([
    [4, true],
    [3, false],
  ]);
  expect(await statesOf(id)).toHaveLength(4);
  await reapDiscarded(env.DB, env.OBJECTS, Date.now() + HOUR_MS);
  expect(await statesOf(id)).toHaveLength(2);
  await call(`/profiles/${id}`, { method: "DELETE", bearer: key });
  await reapDiscarded(env.DB, env.OBJECTS, Date.now() + HOUR_MS);
  expect(await statesOf(id)).toEqual([]);
});

test("the versions of another org's profile are 404", async () => {
  const { id } = await newProfile((await newOrg()).key);
  const { key } = await newOrg();
  const response = await call(`/profiles/${id}/versions`, { bearer: key });
  expect(await codeOf(response)).toEqual({ status: 404, code: "ProfileNotFound" });
});
