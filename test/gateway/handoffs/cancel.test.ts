import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { SessionRecord } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { call, codeOf, json, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

describe("DELETE /sessions/:id/handoffs/:handoffId", async () => {
  const pool = await newPool();
  beforeEach(() => pool.beat());
  const { key } = await newOrg("starter");
  const cancel = (id: string, handoff: string) =>
    call(`/sessions/${id}/handoffs/${handoff}`, { method: "DELETE", bearer: key });

  test("takes the session back; repeated it changes nothing, and another hand-off may begin", async () => {
    const id = await newSession(key);
    const begin = () => call(`/sessions/${id}/handoffs`, { ...json({}), bearer: key });
    const { handoff } = HandoffBegun.parse(await (await begin()).json());
    for (const _time of [1, 2]) expect((await cancel(id, handoff.id)).status).toBe(204);
    const read = await (await call(`/sessions/${id}`, { bearer: key })).json();
    expect(SessionRecord.parse(read).handoff).toEqual({ ...handoff, status: "cancelled" });
    expect((await begin()).status).toBe(201);
  });

  test("of a hand-off that never was is 404 NotFound, and of an ended session 409 NotRunning", async () => {
    const id = await newSession(key);
    expect(await codeOf(await cancel(id, "ho_none"))).toEqual({ status: 404, code: "NotFound" });
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    expect(await codeOf(await cancel(id, "ho_none"))).toEqual({ status: 409, code: "NotRunning" });
  });
});
