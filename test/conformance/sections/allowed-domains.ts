import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forged, type OpenSession, type OrgCaller, pathOf, type Service } from "../caller.ts";

/** Document 1: POST /sessions/:id/allowed-domains. */
export function allowedDomains(service: Service): void {
  describe("POST /sessions/:id/allowed-domains", () => {
    let org: OrgCaller;
    let session: OpenSession;
    beforeAll(async () => {
      org = await service.newOrg("professional");
      session = await org.open();
    });
    afterAll(() => session[Symbol.asyncDispose]());

    const set = (path: string, body: unknown) => org.post(`${path}/allowed-domains`, body);

    test.each([
      {},
      { domains: null },
      { domains: "a.example" },
      { domains: [5] },
      { domains: [""] },
      { domains: ["https://a.example"] },
      { domains: ["a.example:80"] },
      { domains: ["*.a.example"] },
    ])("%j is 400", async (body) => {
      const answer = await set(session.path, body);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ code: "ValidationError" });
    });

    test("a body that is no JSON is 400", async () => {
      expect((await set(session.path, "{")).status).toBe(400);
    });

    test("a session that is not stealth is 400", async () => {
      const answer = await set(session.path, { domains: ["a.example"] });
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ error: expect.stringContaining("stealth") });
    });

    test("a session that is released, forged, unknown or another org's is 404", async () => {
      const other = await service.newOrg();
      await using released = await org.open();
      await using theirs = await other.open();
      await org.delete(released.path);
      const paths = [released.path, pathOf(forged(session.id)), pathOf("nope"), theirs.path];
      const answers = await Promise.all(paths.map((path) => set(path, { domains: [] })));
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      for (const { json } of answers) expect(json).toMatchObject({ code: "InvalidSessionId" });
    });
  });
}
