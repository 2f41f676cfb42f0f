import { describe, expect, test } from "vitest";
import { SURFACES, type Surface, type VmOrg, type VmService } from "../vm-caller.ts";

const create = (org: VmOrg, surface: Surface, key: string, body: unknown = { cpu: 2 }) =>
  org.post(surface, body, { "idempotency-key": key });

/** Document 2: Idempotency. */
export function idempotency(service: VmService): void {
  describe.each(service.surfaces)("an Idempotency-Key on POST %s", (surface) => {
    test("replays the first answer to the byte, in whatever order of its fields, and after a DELETE", async () => {
      const org = await service.newOrg();
      const first = await create(org, surface, "a", '{"cpu":2,"memMb":2048}');
      await using machine = org.made(surface, first);
      expect(first.headers.get("idempotent-replayed")).toBe(null);
      const again = await create(org, surface, "a", '{ "memMb": 2048, "cpu": 2 }');
      await org.delete(machine.path);
      const later = await create(org, surface, "a", { cpu: 2, memMb: 2048 });
      for (const answer of [again, later]) {
        expect([answer.status, answer.text]).toEqual([201, first.text]);
        expect(answer.headers.get("idempotent-replayed")).toBe("true");
      }
    });

    test("of many requests at once makes one machine", async () => {
      const org = await service.newOrg();
      const answers = await Promise.all(Array.from({ length: 6 }, () => create(org, surface, "b")));
      const [first] = answers;
      if (!first) throw new Error("no answer");
      await using machine = org.made(surface, first);
      expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([first.text]));
      const { json } = await org.get("/sandboxes");
      expect(json).toMatchObject({ sandboxes: [{ sandboxId: machine.id }] });
      expect((json as { sandboxes: unknown[] }).sandboxes).toHaveLength(1);
    });

    test("for another body, or on the other surface, is 409", async () => {
      const org = await service.newOrg();
      await using machine = org.made(surface, await create(org, surface, "c"));
      expect(machine.id).not.toBe("");
      const other = SURFACES.find((one) => one !== surface) ?? surface;
      const answers = [await create(org, surface, "c", { cpu: 1 }), await create(org, other, "c")];
      for (const { status, json } of answers)
        expect([status, json]).toMatchObject([409, { code: "IdempotencyKeyReused" }]);
    });

    test("remembers no failure", async () => {
      const org = await service.newOrg("professional", { vms: 1 });
      const first = await org.make(surface);
      expect((await create(org, surface, "d")).status).toBe(429);
      await org.delete(first.path);
      await using machine = org.made(surface, await create(org, surface, "d"));
      expect(machine.id).not.toBe(first.id);
    });

    test.each([
      ["empty", ""],
      ["longer than 255 characters", "x".repeat(256)],
    ])("that is %s is 400", async (_name, key) => {
      const answer = await create(await service.newOrg(), surface, key);
      expect([answer.status, answer.json]).toMatchObject([400, { code: "InvalidIdempotencyKey" }]);
    });
  });
}
