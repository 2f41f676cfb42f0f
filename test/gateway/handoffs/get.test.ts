import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { Handoff } from "@svc/contract/browser/take-over.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { call, codeOf, json, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

describe("GET /sessions/:id/handoffs/:handoffId", async () => {
  const pool = await newPool();
  beforeEach(() => pool.beat());
  const { key } = await newOrg("starter");
  const begun = async (id: string): Promise<string> => {
    const response = await call(`/sessions/${id}/handoffs`, { ...json({}), bearer: key });
    return HandoffBegun.parse(await response.json()).handoff.id;
  };
  const get = (id: string, handoff: string, query = "") =>
    call(`/sessions/${id}/handoffs/${handoff}${query}`, { bearer: key });
  const cancel = (id: string, handoff: string) =>
    call(`/sessions/${id}/handoffs/${handoff}`, { method: "DELETE", bearer: key });

  test("answers at once without a wait, and when the wait is over with one", async () => {
    const id = await newSession(key);
    const handoff = await begun(id);
    for (const query of ["", "?waitMs=0", "?waitMs=nonsense", "?waitMs=-5", "?waitMs=50"]) {
      const answer = Handoff.parse(await (await get(id, handoff, query)).json());
      expect(answer).toMatchObject({ id: handoff, status: "pending" });
    }
  });

  test("answers as soon as the hand-off is over", async () => {
    const id = await newSession(key);
    const handoff = await begun(id);
    const waiting = get(id, handoff, "?waitMs=99999999");
    expect((await cancel(id, handoff)).status).toBe(204);
    expect(Handoff.parse(await (await waiting).json()).status).toBe("cancelled");
  });

  test("is 409 NotRunning once the session has ended, also while it waits", async () => {
    const id = await newSession(key);
    const handoff = await begun(id);
    const waiting = get(id, handoff, "?waitMs=99999999");
    await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
    for (const answer of [await waiting, await get(id, handoff)])
      expect(await codeOf(answer)).toEqual({ status: 409, code: "NotRunning" });
  });

  test("of another hand-off than the last is 404 NotFound", async () => {
    const id = await newSession(key);
    expect(await codeOf(await get(id, "ho_none"))).toEqual({ status: 404, code: "NotFound" });
    const first = await begun(id);
    await cancel(id, first);
    await begun(id);
    expect(await codeOf(await get(id, first))).toEqual({ status: 404, code: "NotFound" });
  });
});
