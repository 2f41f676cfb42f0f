import { SavedLogins } from "@svc/contract/browser/login.ts";
import { expect, test } from "vitest";
import { call, codeOf } from "../../support/worker/gateway.ts";
import { LOGIN, newConsole } from "../../support/worker/logins.ts";

test("the logins of a profile are listed by site; another org's are 404", async () => {
  const { put, token, profileId } = await newConsole();
  for (const site of ["b.test", "a.test"]) await put(LOGIN, site);
  const path = `/console/api/logins?profileId=${profileId}`;
  const { logins } = SavedLogins.parse(await (await call(path, { bearer: token })).json());
  expect(logins.map(({ site }) => site)).toEqual(["a.test", "b.test"]);
  const other = await newConsole();
  const stranger = await call(path, { bearer: other.token });
  expect(await codeOf(stranger)).toEqual({ status: 404, code: "ProfileNotFound" });
});
