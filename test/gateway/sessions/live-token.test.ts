import { LiveToken } from "@svc/contract/browser/take-over.ts";
import { SessionRecord } from "@svc/contract/browser/session.ts";
import { readAlias, readViewerToken } from "@svc/contract/tokens/viewer.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { SIGNING_SECRET } from "../../support/secrets.ts";
import { call, json, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

describe("POST /sessions/:id/live-token", async () => {
  const pool = await newPool();
  beforeEach(() => pool.beat());
  const { key, orgId } = await newOrg("starter");
  const mint = (id: string, body: object = {}) =>
    call(`/sessions/${id}/live-token`, { ...json(body), bearer: key });

  test("begins a hand-off that the record shows, with a URL that lasts as long", async () => {
    const id = await newSession(key);
    const response = await mint(id, { timeoutSeconds: 60 });
    expect(response.status).toBe(200);
    const { handoff, token, url, expiresInSeconds } = LiveToken.parse(await response.json());
    expect(handoff.status).toBe("pending");
    expect(expiresInSeconds).toBeLessThanOrEqual(60);
    const alias = new URL(url).pathname.split("/").at(-1) ?? "";
    expect(await readAlias(SIGNING_SECRET, alias, Date.now())).toMatchObject({ id, org: orgId });
    const claims = await readViewerToken(SIGNING_SECRET, token, Date.now());
    expect(claims).toMatchObject({ aud: "live", mode: "control", hid: handoff.id, sub: alias });
    expect(JSON.stringify(claims) + url).not.toContain(id);
    const read = SessionRecord.parse(await (await call(`/sessions/${id}`, { bearer: key })).json());
    expect(read.handoff).toEqual(handoff);
  });

  test.each([29, 1801, 1.5, "60", null])("timeoutSeconds %o is 400", async (timeoutSeconds) => {
    const response = await mint(await newSession(key), { timeoutSeconds });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ field: "timeoutSeconds" });
  });

  test("of an ended session is 409", async () => {
    const id = await newSession(key);
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect((await mint(id)).status).toBe(409);
  });
});
