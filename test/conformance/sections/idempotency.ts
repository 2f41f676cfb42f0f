import { SessionCreated, SessionList } from "@svc/contract/browser/session.ts";
import { describe, expect, test } from "vitest";
import type { OrgCaller, Service } from "../caller.ts";

/** Decisions: Idempotency-Key on POST /sessions, by the rules of document 2. */
export function idempotency(service: Service): void {
  const create = (org: OrgCaller, key: string, body: unknown = {}) =>
    org.post("/sessions", body, { "idempotency-key": key });

  describe("an Idempotency-Key", () => {
    test("replays the first answer to the byte, also after the session's release", async () => {
      const org = await service.newOrg();
      const first = await create(org, "a");
      await using session = org.opened(first);
      const again = await create(org, "a");
      await org.delete(session.path);
      const later = await create(org, "a");
      expect([again.status, later.status]).toEqual([201, 201]);
      expect([again.text, later.text]).toEqual([first.text, first.text]);
      expect((await org.get("/sessions?status=active")).json).toEqual({ sessions: [] });
    });

    test("of many requests at once makes one session", async () => {
      const org = await service.newOrg();
      const answers = await Promise.all(Array.from({ length: 10 }, () => create(org, "b")));
      await using session = org.opened(answers[0] ?? (await create(org, "b")));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      const { sessions } = SessionList.parse((await org.get("/sessions")).json);
      expect(sessions.map(({ id }) => id)).toEqual([session.id]);
    });

    test("for another body is 409", async () => {
      const org = await service.newOrg();
      await using session = org.opened(await create(org, "c", { a: 1, b: 2 }));
      const same = await create(org, "c", '{ "b": 2, "a": 1 }');
      expect(SessionCreated.parse(same.json).sessionId).toBe(session.id);
      const other = await create(org, "c", { a: 2, b: 2 });
      expect(other.status).toBe(409);
      expect(other.json).toMatchObject({ code: "IdempotencyKeyReused" });
    });

    test("remembers no failure", async () => {
      const org = await service.newOrg("free", { browsers: 1 });
      const first = await org.open();
      expect((await create(org, "d")).status).toBe(429);
      await org.delete(first.path);
      await using session = org.opened(await create(org, "d"));
      expect((await session.read()).status).toBe("active");
    });

    test("is each org's own", async () => {
      const [one, two] = [await service.newOrg(), await service.newOrg()];
      await using first = one.opened(await create(one, "e"));
      await using second = two.opened(await create(two, "e"));
      expect(first.id).not.toBe(second.id);
    });

    test.each([
      ["empty", ""],
      ["longer than 255 characters", "x".repeat(256)],
    ])("that is %s is 400", async (_name, key) => {
      const answer = await create(await service.newOrg(), key);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ code: "InvalidIdempotencyKey" });
    });
  });
}
