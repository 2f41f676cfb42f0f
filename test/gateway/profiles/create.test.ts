import { env } from "cloudflare:workers";
import { ProfileList } from "@svc/contract/browser/profile.ts";
import { expect, test } from "vitest";
import { newProfile } from "../../support/worker/profiles.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";

test("a new profile is empty, and stands first in the list, a bare array", async () => {
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
])("a profile is not made by %s: 400", async (_name, body, code) => {
  const { key } = await newOrg();
  const response = await call("/profiles", { method: "POST", body, bearer: key });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code });
});

test("a profile's name that is taken is 400, in another org it is free", async () => {
  const { key } = await newOrg();
  await newProfile(key);
  const response = await call("/profiles", { ...json({ name: "work" }), bearer: key });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "ValidationError", field: "name" });
  await newProfile((await newOrg()).key);
});

test("of many profiles at once exactly the plan's cap are made, the rest is 403 with plan and cap", async () => {
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

test.each(["🦄 \u202e", "a\u0000b", "\ud800", "' OR 1=1 --", "x".repeat(200)])(
  "a profile's name of %j is taken",
  async (name) => {
    const { key } = await newOrg();
    const response = await call("/profiles", { ...json({ name }), bearer: key });
    expect(response.status).toBe(201);
    const list = await call("/profiles", { bearer: key });
    expect(await list.json()).toHaveLength(1);
  },
);

test.each(["x".repeat(201), "\u00a0\u3000", ["a"], { toString: "a" }, true, 1e308])(
  "a profile's name of %j is 400",
  async (name) => {
    const { key } = await newOrg();
    const response = await call("/profiles", { ...json({ name }), bearer: key });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ field: "name" });
  },
);

test("a profile's body of 16 KB of brackets is 400", async () => {
  const { key } = await newOrg();
  for (const body of ["[".repeat(10_000), `${"[".repeat(8000)}${"]".repeat(8000)}`]) {
    const response = await call("/profiles", { method: "POST", body, bearer: key });
    expect(response.status).toBe(400);
  }
});
