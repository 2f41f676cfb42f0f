import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { SessionRecord } from "@svc/contract/browser/session.ts";
import { readAlias, readViewerToken } from "@svc/contract/tokens/viewer.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { SIGNING_SECRET } from "../../support/secrets.ts";
import {
  BASE,
  call,
  codeOf,
  json,
  newOrg,
  newPool,
  newSession,
} from "../../support/worker/gateway.ts";

describe("POST /sessions/:id/handoffs", async () => {
  const pool = await newPool();
  beforeEach(() => pool.beat());
  const { key, orgId } = await newOrg("starter");
  const begin = (id: string, body: object = {}) =>
    call(`/sessions/${id}/handoffs`, { ...json(body), bearer: key });

  test("answers a page whose token is in the fragment alone, and names no session", async () => {
    const id = await newSession(key);
    const wish = { instructions: "Sign in, please.", successUrl: "https://a.test/**" };
    const response = await begin(id, { ...wish, timeoutSeconds: 60 });
    expect(response.status).toBe(201);
    const { handoff, liveUrl } = HandoffBegun.parse(await response.json());
    expect(handoff).toMatchObject({ kind: "login", status: "pending", ...wish });
    const lasts = Date.parse(handoff.expiresAt) - Date.parse(handoff.createdAt);
    expect(lasts).toBe(60_000);
    const { origin, pathname, search, hash } = new URL(liveUrl);
    expect([origin, pathname, search]).toEqual([BASE, `/console/live/${handoff.id}`, ""]);
    const claims = await readViewerToken(SIGNING_SECRET, hash.slice("#t=".length), Date.now());
    expect(claims).toMatchObject({ aud: "live", mode: "control", hid: handoff.id });
    const alias = await readAlias(SIGNING_SECRET, claims?.sub ?? "", Date.now());
    expect(alias).toMatchObject({ id, org: orgId });
    expect(JSON.stringify(claims) + liveUrl).not.toContain(id);
    const read = SessionRecord.parse(await (await call(`/sessions/${id}`, { bearer: key })).json());
    expect(read.handoff).toEqual(handoff);
  });

  test("of a session that somebody has, or is to have, is 409 HandoffActive", async () => {
    const id = await newSession(key);
    await begin(id);
    expect(await codeOf(await begin(id))).toEqual({ status: 409, code: "HandoffActive" });
    const taken = await newSession(key);
    await call(`/sessions/${taken}/live-token`, { method: "POST", bearer: key });
    expect(await codeOf(await begin(taken))).toEqual({ status: 409, code: "HandoffActive" });
  });

  test.each([
    [{ timeoutSeconds: 29 }, "timeoutSeconds"],
    [{ timeoutSeconds: 1801 }, "timeoutSeconds"],
    [{ instructions: "x".repeat(501) }, "instructions"],
    [{ instructions: 7 }, "instructions"],
    [{ successUrl: "" }, "successUrl"],
    [{ kind: "autologin" }, "kind"],
  ])("%o is 400", async (body, field) => {
    const response = await begin(await newSession(key), body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field });
  });

  test("of an ended session is 409 NotRunning", async () => {
    const id = await newSession(key);
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect(await codeOf(await begin(id))).toEqual({ status: 409, code: "NotRunning" });
  });
});
