import { ObserveToken } from "@svc/contract/browser/observer.ts";
import { readAlias, readViewerToken } from "@svc/contract/tokens/viewer.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { SIGNING_SECRET } from "../../support/secrets.ts";
import { call, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

describe("POST /sessions/:id/observe-token", async () => {
  const pool = await newPool();
  beforeEach(() => pool.beat());
  const { key, orgId } = await newOrg("starter");
  const mint = (id: string) =>
    call(`/sessions/${id}/observe-token`, { method: "POST", bearer: key });

  test("gives a URL whose alias and token stand for the session, and do not name it", async () => {
    const id = await newSession(key);
    const response = await mint(id);
    expect(response.status).toBe(200);
    const { token, url } = ObserveToken.parse(await response.json());
    expect(new URL(url).searchParams.get("token")).toBe(token);
    const alias = new URL(url).pathname.split("/").at(-1) ?? "";
    expect(alias).toMatch(/^obs_/);
    expect(await readAlias(SIGNING_SECRET, alias, Date.now())).toMatchObject({ id, org: orgId });
    const claims = await readViewerToken(SIGNING_SECRET, token, Date.now());
    expect(claims).toMatchObject({ aud: "observe", sub: alias, org: orgId });
    expect(JSON.stringify(claims) + url).not.toContain(id);
  });

  test("of an ended session is 409", async () => {
    const id = await newSession(key);
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    const response = await mint(id);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "NotRunning" });
  });
});
