import { SessionList } from "@svc/contract/browser/session.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { call, newOrg, newPool, newSession, slotOf } from "../../support/worker/gateway.ts";

describe("five sessions, two of them released", async () => {
  const pool = await newPool();
  const { key } = await newOrg("starter");
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await newSession(key));
  const released = [ids[1], ids[3]];
  for (const id of released) await call(`/sessions/${id}`, { method: "DELETE", bearer: key });

  // One that is not heard for 15 s would be away, and its sessions with it.
  const live = ids.filter((id) => !released.includes(id));
  beforeEach(() => pool.beat({ slots: live.map((id) => slotOf(id)) }));

  async function list(query: string): Promise<SessionList> {
    const response = await call(`/sessions${query}`, { bearer: key });
    expect(response.status).toBe(200);
    return SessionList.parse(await response.json());
  }
  const idsOf = (page: SessionList) => page.sessions.map(({ id }) => id);

  test("are listed newest first, as GET /sessions/:id shows them", async () => {
    const page = await list("");
    expect(idsOf(page)).toEqual(ids.toReversed());
    expect(page).not.toHaveProperty("nextCursor");
    for (const record of page.sessions) {
      const one = await call(`/sessions/${record.id}`, { bearer: key });
      expect(record).toEqual(await one.json());
    }
  });

  test("are filtered by status", async () => {
    expect(idsOf(await list("?status=released"))).toEqual(released.toReversed());
    expect(idsOf(await list("?status=active"))).toEqual([ids[4], ids[2], ids[0]]);
    expect(idsOf(await list("?status=expired"))).toEqual([]);
    expect(idsOf(await list("?status=unknown"))).toEqual([]);
  });

  test("come in pages whose cursors meet no gap and no repeat", async () => {
    const first = await list("?limit=2");
    const second = await list(`?limit=2&cursor=${first.nextCursor}`);
    const third = await list(`?limit=2&cursor=${second.nextCursor}`);
    expect([first, second, third].flatMap(idsOf)).toEqual(ids.toReversed());
    expect(third).not.toHaveProperty("nextCursor");
  });

  test("a limit is clamped to 1 and 100", async () => {
    expect((await list("?limit=0")).sessions).toHaveLength(1);
    expect((await list("?limit=-5")).sessions).toHaveLength(1);
    expect((await list("?limit=1000")).sessions).toHaveLength(5);
  });

  test.each([
    "?limit=0",
    "?limit=-5",
    "?limit=x",
    "?cursor=%00",
    "?cursor=zzzzzzzzzz",
    "?status=odd",
  ])("%s is ignored, never refused", async (query) => {
    expect((await list(query)).sessions.length).toBeGreaterThan(0);
  });

  test("another org sees none of them", async () => {
    const other = await newOrg();
    const response = await call("/sessions", { bearer: other.key });
    expect(await response.json()).toEqual({ sessions: [] });
  });
});
