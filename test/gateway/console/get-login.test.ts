import { SavedLogin } from "@svc/contract/browser/login.ts";
import { expect, test } from "vitest";
import { call, codeOf } from "../../support/worker/gateway.ts";
import { newConsole } from "../../support/worker/logins.ts";

test("a saved login is read by its site; of another site, or another org's profile, it is 404", async () => {
  const { put, path, token } = await newConsole();
  const saved = SavedLogin.parse(await (await put()).json());
  expect(await (await call(path(), { bearer: token })).json()).toEqual(saved);
  const none = await call(path("b.test"), { bearer: token });
  expect(await codeOf(none)).toEqual({ status: 404, code: "NoSavedLogin" });
  const other = await newConsole();
  const stranger = await call(path(), { bearer: other.token });
  expect(await codeOf(stranger)).toEqual({ status: 404, code: "ProfileNotFound" });
});
