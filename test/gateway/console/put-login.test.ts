import { env } from "cloudflare:workers";
import { SavedLogin } from "@svc/contract/browser/login.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, test, vi } from "vitest";
import { LoginVault } from "../../../control-plane/login-vault.ts";
import { openLogin, putLogin } from "../../../control-plane/logins.ts";
import { app } from "../../../src/app.ts";
import { LOGIN_KEY } from "../../support/secrets.ts";
import { call, codeOf, json } from "../../support/worker/gateway.ts";
import { LOGIN, newConsole } from "../../support/worker/logins.ts";

describe("PUT /console/api/logins/:profileId/:site", async () => {
  const { profileId, orgId, token, key, path, put } = await newConsole();
  const place = { orgId, profileId, site: "a.test" };

  test("saves a login that shows no secret, in the answer, the database and the log", async () => {
    const lines: unknown[] = [];
    for (const level of ["log", "info", "warn", "error"] as const)
      vi.spyOn(console, level).mockImplementation((line) => void lines.push(line));
    const response = await put({ ...LOGIN, checkUrl: "https://a.test/**", steps: { code: "#c" } });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(SavedLogin.parse(JSON.parse(text))).toEqual({
      profileId,
      site: "a.test",
      loginUrl: LOGIN.loginUrl,
      allowedHosts: ["login.a.test"],
      username: LOGIN.username,
      hasTotp: true,
      checkUrl: "https://a.test/**",
      steps: { code: "#c" },
      savedAt: expect.any(String),
      lastState: null,
      checkedAt: null,
    });
    const row = await env.DB.prepare("SELECT * FROM profile_logins").first();
    const told = JSON.stringify([text, row, lines]);
    for (const secret of [LOGIN.password, "JBSWY3DPEHPK3PXP", LOGIN.totp])
      expect(told).not.toContain(secret);
    const vault = LoginVault.open(LOGIN_KEY);
    expect(await openLogin(env.DB, vault, place)).toMatchObject({
      password: LOGIN.password,
      totp: "JBSWY3DPEHPK3PXP",
    });
    vi.restoreAllMocks();
  });

  test("replaces all of it: what is left out is gone", async () => {
    await put({ ...LOGIN, checkUrl: "https://a.test/**" });
    const { totp: _totp, ...rest } = LOGIN;
    const login = SavedLogin.parse(await (await put({ ...rest, password: "other" })).json());
    expect(login).toMatchObject({ hasTotp: false });
    expect(login.checkUrl).toBeUndefined();
    const opened = await openLogin(env.DB, LoginVault.open(LOGIN_KEY), place);
    expect(opened).toMatchObject({ password: "other", totp: null });
  });

  test("an API key cannot", async () => {
    const response = await call(path(), { ...json(LOGIN, "PUT"), bearer: key });
    expect(response.status).toBe(401);
  });

  test.each([
    [{ loginUrl: "http://a.test/in" }, "loginUrl"],
    [{ loginUrl: "javascript:1" }, "loginUrl"],
    [{ allowedHosts: ["b.test"] }, "allowedHosts"],
    [{ allowedHosts: [] }, "allowedHosts"],
    [{ allowedHosts: ["login.a.test", "*.a.test"] }, "allowedHosts.1"],
    [{ password: "" }, "password"],
    [{ password: undefined }, "password"],
    [{ totp: "0189" }, "totp"],
    [{ steps: { captcha: "#x" } }, "steps"],
    [{ secret: "x" }, ""],
  ])("%o is 400, and says nothing of secrets", async (wrong, field) => {
    const response = await put({ ...LOGIN, ...wrong });
    expect(response.status).toBe(400);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ code: "ValidationError", field });
    expect(text).not.toContain(LOGIN.password);
  });

  test("a site that is no host is 400, and a profile of another org 404", async () => {
    const response = await put(LOGIN, "https%3A%2F%2Fa.test");
    expect(await response.json()).toMatchObject({ code: "ValidationError", field: "site" });
    const other = await newConsole();
    const stranger = await call(other.path(), { ...json(LOGIN, "PUT"), bearer: token });
    expect(await codeOf(stranger)).toEqual({ status: 404, code: "ProfileNotFound" });
  });

  test("a profile has so many and no more, and each can still be saved again", async () => {
    const full = await newConsole();
    for (let n = 0; n < LIMITS.profileLogins; n += 1)
      expect((await full.put(LOGIN, `s${n}.test`)).status).toBe(200);
    expect(await (await full.put(LOGIN, "more.test")).json()).toMatchObject({ field: "site" });
    expect((await full.put(LOGIN, "s0.test")).status).toBe(200);
  });

  test("a profile that is deleted meanwhile is 404, and keeps no login", async () => {
    const doomed = await newConsole();
    const vault = LoginVault.open(LOGIN_KEY);
    const deleting = { bearer: doomed.key, method: "DELETE" };
    vi.spyOn(vault, "seal").mockImplementationOnce(async () => {
      await call(`/profiles/${doomed.profileId}`, deleting);
      return "sealed";
    });
    const at = { orgId: doomed.orgId, profileId: doomed.profileId, site: "a.test" };
    const putting = putLogin(env.DB, vault, at, { ...LOGIN, allowedHosts: ["a.test"] }, Date.now());
    await expect(putting).rejects.toMatchObject({ code: "ProfileNotFound" });
    const sql = "SELECT count(*) AS n FROM profile_logins WHERE profile_id = ?";
    expect(await env.DB.prepare(sql).bind(doomed.profileId).first("n")).toBe(0);
  });

  test("without SVC_LOGIN_KEY, and with one that is none, it is 501 NotConfigured", async () => {
    for (const SVC_LOGIN_KEY of [undefined, "short", `${LOGIN_KEY},short`]) {
      const headers = { authorization: `Bearer ${token}` };
      const response = await app.request(
        path(),
        { ...json(LOGIN, "PUT"), headers },
        { ...env, SVC_LOGIN_KEY },
      );
      expect(await codeOf(response)).toEqual({ status: 501, code: "NotConfigured" });
    }
  });
});
