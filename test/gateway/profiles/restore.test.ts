import { env } from "cloudflare:workers";
import { ProfileSaved } from "@svc/contract/browser/profile.ts";
import { expect, test } from "vitest";
import { reapDiscarded } from "../../../control-plane/discarded.ts";
import { call, codeOf, json, newOrg } from "../../support/worker/gateway.ts";
import { lockForEditor, newProfile, saveProfile, statesOf } from "../../support/worker/profiles.ts";

const HOUR_MS = 3_600_000;

async function withVersions(...values: string[]) {
  const { key } = await newOrg("free", { profileVersions: 3 });
  const { id } = await newProfile(key);
  for (const x of values) await saveProfile(key, id, { storageState: { x } });
  const restore = (version: unknown) =>
    call(`/profiles/${id}/restore`, { ...json({ version }), bearer: key });
  return { key, id, restore };
}

test("an older version becomes the next one, and lives as long as any version names its state", async () => {
  const { key, id, restore } = await withVersions("one", "two");
  const restored = ProfileSaved.parse(await (await restore(1)).json());
  expect(restored.version).toBe(3);
  const textOf = async (name: string) => (await env.OBJECTS.get(name))?.text();
  expect(await textOf(restored.storageStateS3Key)).toBe('{"x":"one"}');
  // Versions 1 and 2 are kept no more.
  for (const x of ["four", "five"]) await saveProfile(key, id, { storageState: { x } });
  await reapDiscarded(env.DB, env.OBJECTS, Date.now() + HOUR_MS);
  expect(await statesOf(id)).toHaveLength(3);
  expect(await textOf(restored.storageStateS3Key)).toBe('{"x":"one"}');
  expect((await restore(3)).status).toBe(200);
});

test("a version that is not kept, or never was, is 404", async () => {
  const { restore } = await withVersions("1", "2", "3", "4");
  for (const version of [1, 5, 99])
    expect(await codeOf(await restore(version))).toEqual({
      status: 404,
      code: "ProfileVersionNotFound",
    });
});

test.each([0, -1, 1.5, "1", null])("the version %j is 400", async (version) => {
  const { restore } = await withVersions("1");
  expect(await codeOf(await restore(version))).toEqual({ status: 400, code: "ValidationError" });
});

test("a profile that is open in the editor is 409", async () => {
  const { id, restore } = await withVersions("1", "2");
  await lockForEditor(id, Date.now() + HOUR_MS);
  expect(await codeOf(await restore(1))).toEqual({ status: 409, code: "ProfileLocked" });
});
