import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { call, codeOf } from "../../support/worker/gateway.ts";
import { LOGIN, newConsole } from "../../support/worker/logins.ts";

test("a saved login is deleted once; another org cannot", async () => {
  const { put, path, token } = await newConsole();
  await put();
  const other = await newConsole();
  const remove = (bearer: string) => call(path(), { method: "DELETE", bearer });
  expect(await codeOf(await remove(other.token))).toEqual({ status: 404, code: "ProfileNotFound" });
  expect((await remove(token)).status).toBe(204);
  expect(await codeOf(await remove(token))).toEqual({ status: 404, code: "NoSavedLogin" });
});

test("the logins of a profile go with it", async () => {
  const { put, profileId, key } = await newConsole();
  for (const site of ["a.test", "b.test"]) await put(LOGIN, site);
  await call(`/profiles/${profileId}`, { method: "DELETE", bearer: key });
  const sql = "SELECT count(*) AS n FROM profile_logins WHERE profile_id = ?";
  expect(await env.DB.prepare(sql).bind(profileId).first("n")).toBe(0);
});
