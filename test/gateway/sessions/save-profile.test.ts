import { env } from "cloudflare:workers";
import { ProfileList, ProfileSaved } from "@svc/contract/browser/profile.ts";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { describe, expect, test } from "vitest";
import { call, codeOf, json, newOrg } from "../../support/worker/gateway.ts";
import { lockForEditor, newProfile, statesOf } from "../../support/worker/profiles.ts";
import { placed } from "../../support/worker/session.ts";

const HOUR_MS = 3_600_000;
const STATE = '{"cookies":[],"origins":[],"é":1}';

describe("POST /sessions/:id/save-profile", async () => {
  const { pool, key, id } = await placed({ profiles: 4 });
  await pool.steer({ state: { status: 200, body: STATE } });
  const save = (body: object = {}, session = id) =>
    call(`/sessions/${session}/save-profile`, { ...json(body), bearer: key });
  const profiles = async () =>
    ProfileList.parse(await (await call("/profiles", { bearer: key })).json());

  test("stores the state of the browser as the next version, and says what was lost", async () => {
    const profile = await newProfile(key, "by id");
    const response = await save({ profileId: profile.id });
    expect(response.status).toBe(200);
    const saved = await response.json<{ lost: number }>();
    const { version, sizeBytes, storageStateS3Key } = ProfileSaved.parse(saved);
    const bytes = new TextEncoder().encode(STATE).length;
    expect([version, sizeBytes, saved.lost]).toEqual([1, bytes, 3]);
    expect(await (await env.OBJECTS.get(storageStateS3Key))?.text()).toBe(STATE);
  });

  test("with an Idempotency-Key is made once, for two that ask at once as for one that asks later", async () => {
    const profile = await newProfile(key, "once");
    const wish = (idempotencyKey: string, body: object = { profileId: profile.id }) => {
      const headers = { "idempotency-key": idempotencyKey };
      return call(`/sessions/${id}/save-profile`, { ...json(body), headers, bearer: key });
    };
    await pool.steer({ state: { status: 502, body: "" } });
    expect((await wish("one")).status).toBe(502);
    await pool.steer({ state: { status: 200, body: STATE } });
    const answers = await Promise.all([wish("one"), wish("one")]);
    answers.push(await wish("one"));
    for (const answer of answers) expect(await answer.json()).toMatchObject({ version: 1 });
    expect(await (await wish("two")).json()).toMatchObject({ version: 2 });
    const other = await codeOf(await wish("one", { name: "another" }));
    expect(other).toEqual({ status: 409, code: "IdempotencyKeyReused" });
    expect(await codeOf(await wish("one", { profileId: 5 }))).toMatchObject({ status: 400 });
    await call(`/profiles/${profile.id}`, { method: "DELETE", bearer: key });
  });

  test("makes a profile of a new name, and takes the one that has the name", async () => {
    const [one, two] = [await save({ name: "by name" }), await save({ name: " by name " })];
    const [first, second] = [
      ProfileSaved.parse(await one.json()),
      ProfileSaved.parse(await two.json()),
    ];
    expect(second).toMatchObject({ profileId: first.profileId, version: 2 });
    expect(await profiles()).toContainEqual(
      expect.objectContaining({ name: "by name", version: 2 }),
    );
  });

  test("without either saves the profile that the session began with", async () => {
    const profile = await newProfile(key, "began");
    const ask = { ...json({ profileId: profile.id }), bearer: key };
    const { sessionId } = SessionCreated.parse(await (await call("/sessions", ask)).json());
    expect(await (await save({}, sessionId)).json()).toMatchObject({
      profileId: profile.id,
      version: 1,
    });
    await call(`/sessions/${sessionId}`, { method: "DELETE", bearer: key });
    expect(await codeOf(await save({}, sessionId))).toEqual({ status: 409, code: "NotRunning" });
  });

  test("without either, of a session without one, is 400; so is both", async () => {
    for (const body of [{}, { profileId: "a", name: "b" }, { name: " " }, { profileId: 5 }])
      expect(await codeOf(await save(body))).toEqual({ status: 400, code: "ValidationError" });
  });

  test("a profile that is not the org's is 404, one that is open in the editor 409, and the browser is not asked", async () => {
    const foreign = await newProfile((await newOrg()).key);
    const profile = await newProfile(key, "locked");
    await lockForEditor(profile.id, Date.now() + HOUR_MS);
    const asked = async () =>
      (await pool.calls()).filter(({ path }) => path.endsWith("/state")).length;
    const before = await asked();
    expect(await codeOf(await save({ profileId: foreign.id }))).toEqual({
      status: 404,
      code: "ProfileNotFound",
    });
    expect(await codeOf(await save({ name: "locked" }))).toEqual({
      status: 409,
      code: "ProfileLocked",
    });
    expect(await asked()).toBe(before);
    expect(await statesOf(profile.id)).toEqual([]);
    await call(`/profiles/${foreign.id}`, { method: "DELETE", bearer: key });
  });

  test("a new name beyond the plan's profiles is 403", async () => {
    expect(await codeOf(await save({ name: "one too many" }))).toEqual({
      status: 403,
      code: "PlanLimitExceeded",
    });
  });

  test.each([
    [413, 413, "PayloadTooLarge"],
    [404, 409, "NotRunning"],
    [502, 502, "ProfileUnavailable"],
    [500, 503, "PoolUnreachable"],
  ])("a pool that answers %i is %i %s, and no version is made", async (status, told, code) => {
    await pool.steer({ state: { status, body: "" } });
    expect(await codeOf(await save({ name: "by name" }))).toEqual({ status: told, code });
    await pool.steer({ state: { status: 200, body: STATE } });
    expect(await profiles()).toContainEqual(
      expect.objectContaining({ name: "by name", version: 2 }),
    );
  });
});
