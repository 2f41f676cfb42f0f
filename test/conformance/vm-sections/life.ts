import { describe, expect, test } from "vitest";
import type { Machine, VmOrg, VmService } from "../vm-caller.ts";

/** The words of each surface for a machine that runs. */
const RUNNING = { "/sandboxes": { state: "running" }, "/desktops": { status: "ready" } };
const PAUSED = { "/sandboxes": { state: "paused" }, "/desktops": { status: "paused" } };
const GONE = {
  "/sandboxes": { state: "gone", closeReason: "deleted" },
  "/desktops": { status: "gone", expiresAt: null },
};

/** Document 2: records, pause, resume and DELETE, on both surfaces. */
export function life(service: VmService): void {
  describe.each(service.surfaces)("a machine of %s", (surface) => {
    test("has a record, and none of anything internal in it", async () => {
      const org = await service.newOrg();
      await using machine = await org.make(surface);
      const { status, json } = await org.get(machine.path);
      expect([status, json]).toMatchObject([200, RUNNING[surface]]);
      const names = Object.keys(json as object);
      expect(names.filter((name) => /host|pool|place|snapshot|url/i.test(name))).toEqual([]);
    });

    test("is deleted: 200, and again; it is gone, and nothing can be done with it", async () => {
      const org = await service.newOrg();
      await using machine = await org.make(surface);
      for (let n = 0; n < 2; n += 1) {
        const { status, json } = await org.delete(machine.path);
        expect([status, json]).toEqual([200, { ok: true }]);
      }
      expect((await org.get(machine.path)).json).toMatchObject(GONE[surface]);
      for (const what of ["pause", "resume"]) {
        const { status, json } = await machine.act(what);
        expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
      }
    });
  });

  describe.runIf(service.can.has("snapshots")).each(service.surfaces)("of %s", (surface) => {
    const paused = async (org: VmOrg): Promise<Machine> => {
      const machine = await org.make(surface);
      const { status, text } = await machine.act("pause");
      if (status !== 200) throw new Error(text);
      return machine;
    };
    const [does, isPaused] = [RUNNING[surface], PAUSED[surface]];
    const named = (machine: Machine) =>
      surface === "/desktops" ? { sessionId: machine.id } : { controlUrl: machine.controlUrl };

    test("pause and resume: its place is free meanwhile; a second pause is the same", async () => {
      const org = await service.newOrg("professional", { vms: 1 });
      await using machine = await org.make(surface);
      for (let n = 0; n < 2; n += 1) {
        const { status, json } = await machine.act("pause");
        expect([status, json]).toMatchObject([200, isPaused]);
      }
      expect((await org.get(machine.path)).json).toMatchObject(isPaused);
      const other = await org.make();
      const full = await machine.act("resume");
      expect([full.status, full.json]).toMatchObject([
        429,
        { code: "ConcurrencyLimitExceeded", cap: 1, holders: [other.id] },
      ]);
      await org.delete(other.path);
      const { status, json } = await machine.act("resume");
      expect([status, json]).toMatchObject([200, { ...does, ...named(machine) }]);
      expect((await org.get(machine.path)).json).toMatchObject(does);
    });

    test("a resume waits for a pause under way", async () => {
      await using machine = await (await service.newOrg()).make(surface);
      const answers = await Promise.all([machine.act("pause"), machine.act("resume")]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    });

    test("a resume of one that runs is 409", async () => {
      await using machine = await (await service.newOrg()).make(surface);
      const { status, json } = await machine.act("resume");
      expect([status, json]).toMatchObject([409, { code: "NotPaused" }]);
    });

    test("a resume is admitted anew: 403 without the product, 402 without credit", async () => {
      const org = await service.newOrg();
      await using machine = await paused(org);
      const feature = surface === "/desktops" ? "desktops" : "sandboxes";
      await service.patchOrg(org, { overrides: { features: { [feature]: false } } });
      const without = await machine.act("resume");
      expect([without.status, without.json]).toMatchObject([403, { code: "NotEntitled" }]);
      await service.patchOrg(org, { overrides: {}, creditCents: 0 });
      const broke = await machine.act("resume");
      expect([broke.status, broke.json]).toMatchObject([402, { code: "InsufficientCredit" }]);
      await service.patchOrg(org, { creditCents: null });
      expect((await machine.act("resume")).status).toBe(200);
    });
  });
}
