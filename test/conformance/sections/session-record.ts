import { describe, expect, test } from "vitest";
import { forged, pathOf, type Service } from "../caller.ts";

/** Document 1: the session record, GET and DELETE /sessions/:id. */
export function sessionRecord(service: Service): void {
  describe("the record of a session", () => {
    test("that lives is active, of its kind and org, with times and both endpoints", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      const { id, created } = session;
      const record = await session.read();
      expect(record).toMatchObject({
        id,
        status: "active",
        kind: "fast",
        org: org.orgId,
        expiresAt: created.expiresAt,
        wsEndpoint: created.wsEndpoint,
        cdpEndpoint: created.cdpEndpoint,
      });
      expect(Math.abs(Date.parse(record.createdAt ?? "") - Date.now())).toBeLessThan(60_000);
      expect(record).not.toHaveProperty("closeReason");
    });

    test("that was released is 200, says so at once and has no endpoints", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      await org.delete(session.path);
      const answer = await org.get(session.path);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ status: "released", closeReason: "released" });
      for (const field of ["wsEndpoint", "cdpEndpoint"])
        expect(answer.json).not.toHaveProperty(field);
    });
  });

  describe("a release", () => {
    test("is 204 without a body, and again, and again", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      for (let n = 0; n < 3; n += 1) {
        const answer = await org.delete(session.path);
        expect([answer.status, answer.text]).toEqual([204, ""]);
      }
    });

    test("of another org's session is 404 and releases nothing", async () => {
      const org = await service.newOrg();
      const other = await service.newOrg();
      await using session = await org.open();
      expect((await other.delete(session.path)).status).toBe(404);
      expect((await session.read()).status).toBe("active");
    });
  });

  test.each(["GET", "DELETE"])(
    "%s of a malformed, forged or other org's id is 404 InvalidSessionId with the same bytes",
    async (method) => {
      const org = await service.newOrg();
      const other = await service.newOrg();
      await using mine = await org.open();
      await using theirs = await other.open();
      const ids = ["nope", "%00", `${mine.id}x`, mine.id.slice(0, -1), forged(mine.id)];
      const paths = [...ids.map(pathOf), theirs.path];
      const answers = await Promise.all(paths.map((path) => org.send(method, path)));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 404));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers[0]?.json).toMatchObject({ code: "InvalidSessionId" });
    },
  );
}
