import { env } from "cloudflare:workers";
import { mintSessionId } from "@svc/contract/tokens.ts";
import { expect, test } from "vitest";
import { profileVersions } from "../../../control-plane/profile-versions.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";
import { call, codeOf, newOrg } from "../../support/worker/gateway.ts";
import { lockForEditor, newProfile, statesOf } from "../../support/worker/profiles.ts";

const HOUR_MS = 3_600_000;

async function ended() {
  const { key, orgId } = await newOrg();
  const { id } = await newProfile(key);
  const session = await mintSessionId(env.SVC_SIGNING_SECRET, { org: orgId, issuedAt: 1 });
  const store = (body: string, profile = id) =>
    call(`/internal/sessions/${session}/profile/${profile}`, {
      method: "POST",
      bearer: HOST_TOKEN,
      body,
    });
  const versions = async () =>
    (await profileVersions(env.DB, orgId, id)).map(({ version }) => version);
  return { id, store, versions };
}

test("a host stores the state of a session that has ended", async () => {
  const { id, store, versions } = await ended();
  expect((await store('{"cookies":[]}')).status).toBe(204);
  const [key = ""] = await statesOf(id);
  expect(await (await env.OBJECTS.get(key))?.text()).toBe('{"cookies":[]}');
  expect(await versions()).toEqual([1]);
});

test("of sessions with one profile that end at once each is a version: the last one stays", async () => {
  const { store, versions } = await ended();
  const answers = await Promise.all(["1", "2", "3"].map((x) => store(x)));
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
  expect(await versions()).toEqual([3, 2, 1]);
});

test("a profile of another org, or none, is 404, and one that is open in the editor 409", async () => {
  const { id, store, versions } = await ended();
  const foreign = await newProfile((await newOrg()).key);
  for (const profile of [foreign.id, "prof_none"])
    expect(await codeOf(await store("{}", profile))).toEqual({
      status: 404,
      code: "ProfileNotFound",
    });
  await lockForEditor(id, Date.now() + HOUR_MS);
  expect(await codeOf(await store("{}"))).toEqual({ status: 409, code: "ProfileLocked" });
  expect(await versions()).toEqual([]);
});

test("a session id that is none is 404", async () => {
  const { id } = await ended();
  const init = { method: "POST", bearer: HOST_TOKEN, body: "{}" };
  expect(await codeOf(await call(`/internal/sessions/nope/profile/${id}`, init))).toEqual({
    status: 404,
    code: "InvalidSessionId",
  });
});
