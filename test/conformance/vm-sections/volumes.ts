import { VolumeList } from "@svc/contract/vm/volume.ts";
import { describe, expect, test } from "vitest";
import type { VmService } from "../vm-caller.ts";

const ABSENT = `vol_${"0".repeat(32)}`;

/** Document 2: volumes. */
export function volumes(service: VmService): void {
  records(service);
  attachment(service);
}

function records(service: VmService): void {
  describe("a volume", () => {
    test("is made, read, listed newest first and deleted; what is unset is absent", async () => {
      const org = await service.newOrg();
      const plain = await org.volume();
      expect(plain).toEqual({
        volumeId: expect.stringMatching(/^vol_[0-9a-f]{32}$/),
        name: "volume",
        createdAt: expect.any(String),
      });
      const full = { name: "  data  ", sizeMb: 5, metadata: { a: "b", c: 1 } };
      const named = await org.volume(full);
      expect(named).toMatchObject({ name: "data", sizeMb: 5, metadata: { a: "b" } });
      const read = await org.get(`/volumes/${named.volumeId}`);
      expect([read.status, read.json]).toEqual([200, named]);
      const list = VolumeList.parse((await org.get("/volumes")).json);
      expect(list.volumes).toEqual([named, plain]);
      const gone = await org.delete(`/volumes/${named.volumeId}`);
      expect([gone.status, gone.json]).toEqual([200, { ok: true }]);
      expect((await org.get("/volumes")).json).toEqual({ volumes: [plain] });
      expect((await org.get(`/volumes/${named.volumeId}`)).status).toBe(404);
    });

    test.each([
      ["a name that is none", { name: 5 }, { name: "volume" }],
      ["a name that is blank", { name: "  " }, { name: "volume" }],
      ["a name that is too long", { name: "x".repeat(300) }, { name: "x".repeat(200) }],
      ["a size beyond the cap", { sizeMb: 1e9 }, { sizeMb: 1_048_576 }],
    ])("with %s is not refused", async (_name, body, got) => {
      expect(await (await service.newOrg()).volume(body)).toMatchObject(got);
    });

    test.each(["not json", "[1]", "5"])("of the body %s is 400", async (body) => {
      const { status, json } = await (await service.newOrg()).post("/volumes", body);
      expect([status, json]).toMatchObject([400, { code: "InvalidJson" }]);
    });

    test("of another org, unknown or malformed is 404 with the same bytes", async () => {
      const { volumeId } = await (await service.newOrg()).volume();
      const org = await service.newOrg();
      for (const method of ["GET", "DELETE"]) {
        const ids = [volumeId, ABSENT, "nope", "vol_"];
        const answers = await Promise.all(ids.map((id) => org.send(method, `/volumes/${id}`)));
        expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
        expect(answers[0]).toMatchObject({ status: 404, json: { code: "NotFound" } });
      }
    });
  });
}

function attachment(service: VmService): void {
  describe.runIf(service.can.has("volumes.mount"))("a volume that a machine has", () => {
    test("is had by no other one, and not deleted, until the machine is gone", async () => {
      const org = await service.newOrg();
      const { volumeId } = await org.volume();
      const body = { volumes: [{ volumeId, path: "/data" }] };
      await using machine = await org.make("/sandboxes", body);
      const second = await org.post("/sandboxes", body);
      const held = { code: "VolumeAlreadyAttached", holder: machine.id };
      expect([second.status, second.json]).toMatchObject([409, held]);
      expect(second.json).not.toHaveProperty("retryable");
      const deleted = await org.delete(`/volumes/${volumeId}`);
      expect([deleted.status, deleted.json]).toMatchObject([409, { code: "VolumeInUse" }]);
      await org.delete(machine.path);
      expect((await org.delete(`/volumes/${volumeId}`)).status).toBe(200);
    });
  });

  test.runIf(service.can.has("desktop"))(
    "a desktop has none: 409, to be tried elsewhere",
    async () => {
      const org = await service.newOrg();
      const { volumeId } = await org.volume();
      const { status, json } = await org.post("/desktops", {
        volumes: [{ volumeId, path: "/data" }],
      });
      expect([status, json]).toMatchObject([
        409,
        {
          code: "HostCapabilityMissing",
          missingCapabilities: ["volumes.mount"],
          retryable: true,
        },
      ]);
      expect((await org.delete(`/volumes/${volumeId}`)).status).toBe(200);
    },
  );
}
