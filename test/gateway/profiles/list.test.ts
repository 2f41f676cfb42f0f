import { ProfileList } from "@svc/contract/browser/profile.ts";
import { newProfile, saveProfile } from "../../support/worker/profiles.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";

test("profiles are those of the org, with their version once they are saved", async () => {
  const { key } = await newOrg();
  const { id } = await newProfile(key);
  await newProfile((await newOrg()).key);
  await saveProfile(key, id);
  const response = await call("/profiles", { bearer: key });
  expect(response.status).toBe(200);
  const list = ProfileList.parse(await response.json());
  expect(list).toMatchObject([{ id, name: "work", version: 1 }]);
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
