import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { describe, expect, test } from "vitest";
import { BASE, call, json, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

describe("/console/live/:handoffId", async () => {
  await newPool();
  const { key } = await newOrg("starter");
  const begun = async () => {
    const id = await newSession(key);
    const response = await call(`/sessions/${id}/handoffs`, { ...json({}), bearer: key });
    const { handoff, liveUrl } = HandoffBegun.parse(await response.json());
    return { id, handoff, token: new URL(liveUrl).hash.slice("#t=".length) };
  };
  const standing = (handoff: string, bearer?: string) =>
    call(`/console/live/${handoff}/standing`, bearer === undefined ? {} : { bearer });

  test("is the same page for everybody, which runs its own script alone and stands in no frame", async () => {
    const response = await call("/console/live/ho_any");
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect(response.headers.get("content-security-policy")?.split("; ")).toEqual([
      "default-src 'none'",
      `script-src ${BASE}/console/live.js`,
      `style-src ${BASE}/console/live.css`,
      `connect-src ${BASE} ${BASE.replace("http", "ws")}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    const html = await response.text();
    expect(await (await call("/console/live/ho_other")).text()).toBe(html);
    expect(html).not.toMatch(/<script>|style=|onclick/);
    for (const path of ["/console/live.js", "/console/live.css"])
      expect((await call(path)).status).toBe(200);
  });

  test("tells how the hand-off stands to its token, and to nothing else", async () => {
    const { id, handoff, token } = await begun();
    expect(await (await standing(handoff.id, token)).json()).toEqual({ status: "pending" });
    const other = await begun();
    for (const answer of [
      await standing(handoff.id),
      await standing(handoff.id, key),
      await standing(handoff.id, other.token),
      await standing(other.handoff.id, token),
    ])
      expect(answer.status).toBe(401);
    await call(`/sessions/${id}/handoffs/${handoff.id}`, { method: "DELETE", bearer: key });
    expect(await (await standing(handoff.id, token)).json()).toEqual({ status: "cancelled" });
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect(await (await standing(handoff.id, token)).json()).toEqual({ status: "gone" });
  });
});
