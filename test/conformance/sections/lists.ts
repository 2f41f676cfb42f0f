import { SessionList } from "@svc/contract/browser/session.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OpenSession, OrgCaller, Service } from "../caller.ts";

/** Decisions: GET /sessions. */
export function lists(service: Service): void {
  describe("GET /sessions of an org with three sessions, one of them released", () => {
    let org: OrgCaller;
    const sessions: OpenSession[] = [];
    beforeAll(async () => {
      org = await service.newOrg();
      for (let n = 0; n < 3; n += 1) sessions.push(await org.open());
      await org.delete(sessions[1]?.path ?? "");
    });
    afterAll(() => Promise.all(sessions.map((session) => session[Symbol.asyncDispose]())));

    const newestFirst = () => sessions.map(({ id }) => id).toReversed();
    async function list(query: string): Promise<{ ids: string[]; cursor: string }> {
      const answer = await org.get(`/sessions${query}`);
      expect(answer.status).toBe(200);
      const page = SessionList.parse(answer.json);
      return { ids: page.sessions.map(({ id }) => id), cursor: page.nextCursor ?? "" };
    }

    test("is newest first, each as its own record shows it", async () => {
      const answer = SessionList.parse((await org.get("/sessions")).json);
      expect(answer.sessions.map(({ id }) => id)).toEqual(newestFirst());
      expect(answer).not.toHaveProperty("nextCursor");
      expect(answer.sessions[0]).toEqual(await sessions[2]?.read());
    });

    test("is filtered by status", async () => {
      const [newest, released, oldest] = newestFirst();
      expect((await list("?status=active")).ids).toEqual([newest, oldest]);
      expect((await list("?status=released")).ids).toEqual([released]);
      expect((await list("?status=expired")).ids).toEqual([]);
    });

    test("comes in pages without gap or repeat", async () => {
      const first = await list("?limit=2");
      const second = await list(`?limit=2&cursor=${encodeURIComponent(first.cursor)}`);
      expect([...first.ids, ...second.ids]).toEqual(newestFirst());
      expect(second.cursor).toBe("");
    });

    test.each(["limit=x", "limit=0", "limit=-5", "limit=1e9", "cursor=%00", "status=odd", "a=b"])(
      "is never refused: ?%s is ignored or clamped",
      async (query) => {
        expect((await list(`?${query}`)).ids[0]).toBe(newestFirst()[0]);
      },
    );

    test("shows nothing of it to another org", async () => {
      const other = await service.newOrg();
      expect((await other.get("/sessions")).json).toEqual({ sessions: [] });
    });
  });
}
