import { AutologinSites } from "@svc/contract/browser/autologin.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { call, codeOf, newPool, newSession } from "../../support/worker/gateway.ts";
import { newConsole } from "../../support/worker/logins.ts";
import { profiledSession } from "../../support/worker/profiled-session.ts";

describe("GET /sessions/:id/autologin", async () => {
  const pool = await newPool();
  beforeEach(() => pool.beat());
  const { key, profileId, put } = await newConsole();
  const sites = (id: string, query = "") =>
    call(`/sessions/${id}/autologin${query}`, { bearer: key });

  test("of a session without a profile is 409 NoProfile", async () => {
    const response = await sites(await newSession(key));
    expect(await codeOf(response)).toEqual({ status: 409, code: "NoProfile" });
  });

  test("without a saved login, or without one of the site, it is an empty list, and no browser is asked", async () => {
    const id = await profiledSession(key, profileId);
    expect(AutologinSites.parse(await (await sites(id)).json())).toEqual({ sites: [] });
    await put();
    const other = await sites(id, "?site=b.test");
    expect(await other.json()).toEqual({ sites: [] });
  });

  test("of a browser that does not answer is 503 PoolUnreachable", async () => {
    await put();
    const response = await sites(await profiledSession(key, profileId));
    expect(await codeOf(response)).toEqual({ status: 503, code: "PoolUnreachable" });
  });

  test("of an ended session is 409 NotRunning", async () => {
    const id = await profiledSession(key, profileId);
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect(await codeOf(await sites(id))).toEqual({ status: 409, code: "NotRunning" });
  });
});
