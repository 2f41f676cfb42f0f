import { env } from "cloudflare:workers";
import { SessionRecord } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { createExecutionContext } from "cloudflare:test";
import { call, codeOf, json, newPool, newSession } from "../../support/worker/gateway.ts";
import { newConsole } from "../../support/worker/logins.ts";
import { profiledSession } from "../../support/worker/profiled-session.ts";

describe("POST /sessions/:id/autologin", async () => {
  const pool = await newPool();
  beforeEach(() => pool.beat());
  const { key, profileId, put } = await newConsole();
  await put();
  const run = (id: string, body: object = { site: "a.test" }) =>
    call(`/sessions/${id}/autologin`, { ...json(body), bearer: key });
  const session = () => profiledSession(key, profileId);

  test.each([
    [{}, "site"],
    [{ site: "" }, "site"],
    [{ site: "a.test", timeoutSeconds: 4 }, "timeoutSeconds"],
    [{ site: "a.test", timeoutSeconds: 181 }, "timeoutSeconds"],
    [{ site: "a.test", force: "yes" }, "force"],
  ])("%o is 400", async (body, field) => {
    const response = await run(await session(), body);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field });
  });

  test("of a session without a profile is 409 NoProfile, of a site without a login 404 NoSavedLogin", async () => {
    const bare = await run(await newSession(key));
    expect(await codeOf(bare)).toEqual({ status: 409, code: "NoProfile" });
    const other = await run(await session(), { site: "b.test" });
    expect(await codeOf(other)).toEqual({ status: 404, code: "NoSavedLogin" });
  });

  test("of a session that a person has, or is to have, is 409 HandoffActive", async () => {
    const id = await session();
    await call(`/sessions/${id}/handoffs`, { ...json({}), bearer: key });
    expect(await codeOf(await run(id))).toEqual({ status: 409, code: "HandoffActive" });
  });

  test("of an ended session is 409 NotRunning", async () => {
    const id = await session();
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect(await codeOf(await run(id))).toEqual({ status: 409, code: "NotRunning" });
  });

  test("without SVC_LOGIN_KEY is 501 NotConfigured", async () => {
    const path = `/sessions/${await session()}/autologin`;
    const headers = { authorization: `Bearer ${key}` };
    const init = { ...json({ site: "a.test" }), headers };
    const bare = { ...env, SVC_LOGIN_KEY: undefined };
    const response = await app.request(path, init, bare, createExecutionContext());
    expect(await codeOf(response)).toEqual({ status: 501, code: "NotConfigured" });
  });

  test("of a browser that does not answer ends at its time; the session is given back, and the run noted", async () => {
    const id = await session();
    // The fake pool has no DevTools.
    const response = await run(id, { site: "a.test", timeoutSeconds: 5 });
    expect(await response.json()).toMatchObject({ status: "failed", reason: "timeout" });
    const read = SessionRecord.parse(await (await call(`/sessions/${id}`, { bearer: key })).json());
    expect(read.handoff).toMatchObject({ kind: "autologin", status: "cancelled" });
    const sql = "SELECT last_state FROM profile_logins WHERE profile_id = ?";
    expect(await env.DB.prepare(sql).bind(profileId).first("last_state")).toBe("failed");
  });

  test("is answered though it cannot be noted", async () => {
    const prepare = env.DB.prepare.bind(env.DB);
    const spy = vi.spyOn(env.DB, "prepare").mockImplementation((sql) => {
      if (sql.startsWith("UPDATE profile_logins")) throw new Error("test");
      return prepare(sql);
    });
    const path = `/sessions/${await session()}/autologin`;
    const headers = { authorization: `Bearer ${key}` };
    const init = { ...json({ site: "a.test", timeoutSeconds: 5 }), headers };
    const response = await app.request(path, init, env, createExecutionContext());
    expect(spy.mock.calls.flat().join()).toContain("UPDATE profile_logins");
    spy.mockRestore();
    expect(await response.json()).toMatchObject({ status: "failed", reason: "timeout" });
  });

  test("is not taken from the service: 409 HandoffActive until it has given the session back", async () => {
    const id = await session();
    const running = run(id, { site: "a.test", timeoutSeconds: 5 });
    const read = async () =>
      SessionRecord.parse(await (await call(`/sessions/${id}`, { bearer: key })).json()).handoff;
    await vi.waitFor(async () => expect((await read())?.status).toBe("active"), 10_000);
    const path = `/sessions/${id}/handoffs/${(await read())?.id}`;
    const cancel = () => call(path, { method: "DELETE", bearer: key });
    expect(await codeOf(await cancel())).toEqual({ status: 409, code: "HandoffActive" });
    expect((await read())?.status).toBe("active");
    expect(await (await running).json()).toMatchObject({ status: "failed", reason: "timeout" });
    expect((await cancel()).status).toBe(204);
  });
});
