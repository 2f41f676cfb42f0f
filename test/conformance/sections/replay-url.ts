import { describe, expect, test } from "vitest";
import { forged, pathOf, type Service } from "../caller.ts";

/** Document 1: GET /sessions/:id/replay-url. */
export function replayUrl(service: Service): void {
  describe("GET /sessions/:id/replay-url", () => {
    test("of an own session that was not recorded is ReplayUnavailable, live or released", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      for (let n = 0; n < 2; n += 1) {
        const answer = await org.get(`${session.path}/replay-url`);
        expect(answer.status).toBe(404);
        expect(answer.json).toMatchObject({ code: "ReplayUnavailable" });
        expect(answer.json).not.toHaveProperty("retryable", true);
        await org.delete(session.path);
      }
    });

    test("of an unknown, malformed, forged or other org's id is 404 without a code, to the byte", async () => {
      const org = await service.newOrg();
      const other = await service.newOrg();
      await using mine = await org.open();
      await using theirs = await other.open();
      const paths = [pathOf("nope"), pathOf(forged(mine.id)), theirs.path];
      const answers = await Promise.all(paths.map((path) => org.get(`${path}/replay-url`)));
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers[0]?.json).not.toHaveProperty("code");
    });
  });
}
