import { describe, expect, test, vi } from "vitest";
import type { FakeVmMode } from "../../support/fakes/vm-host.ts";
import type { VmService } from "../vm-caller.ts";

type Put = FakeVmMode["put"];
type Mode<K extends keyof FakeVmMode> = FakeVmMode[K];

/** Document 2: what is answered when a host fails. */
export function faults(service: VmService): void {
  describe.runIf(service.faults)("where the host fails", () => {
    creates(service);
    acts(service);
    sandboxActs(service);
    snapshots(service);
  });
}

function creates(service: VmService): void {
  describe.each(service.surfaces)("POST %s", (surface) => {
    test.each<[Put, number, object, boolean]>([
      ["full", 503, { code: "NoCapacity", hint: expect.any(String) }, true],
      ["image", 503, { code: "NoCapacity", hint: expect.any(String) }, true],
      ["small", 507, { code: "InsufficientCapacity", hint: expect.any(String) }, true],
      ["fault", 502, { code: "HostRejected" }, false],
      ["odd", 502, { code: "HostRejected" }, false],
      ["drop", 502, { code: "HostRejected" }, false],
      [
        "lacking",
        409,
        { code: "HostCapabilityMissing", missingCapabilities: ["snapshots"] },
        false,
      ],
    ])("that it answers %s is %i, to be tried again, and holds nothing", async (put, ...wanted) => {
      const [code, body, saysWhen] = wanted;
      const org = await service.newOrg("professional", { vms: 1 });
      {
        using _ = service.steer({ put });
        const { status, json, headers } = await org.post(surface);
        expect([status, json]).toMatchObject([code, { ...body, retryable: true }]);
        expect(headers.has("retry-after")).toBe(saysWhen);
      }
      // Its place is given back behind the answer.
      await vi.waitFor(async () => {
        expect((await org.get("/sandboxes")).json).toEqual({ sandboxes: [] });
      }, 30_000);
      await using machine = await org.make(surface);
      expect(machine.id).not.toBe("");
    });
  });

  test("a create with a volume that cannot be had is 503, and lets go of it", async () => {
    const org = await service.newOrg("professional", { vms: 1 });
    const { volumeId } = await org.volume();
    const volumes = [{ volumeId, path: "/data" }];
    {
      using _ = service.steer({ put: "busy" });
      const { status, json } = await org.post("/sandboxes", { volumes });
      expect([status, json]).toMatchObject([503, { code: "VolumeStatusUnknown", retryable: true }]);
    }
    const again = async () => {
      const answer = await org.post("/sandboxes", { volumes });
      expect(answer.status).toBe(201);
      return answer;
    };
    // What a failed create had is given back behind the answer.
    await using machine = org.made("/sandboxes", await vi.waitFor(again, 30_000));
    expect(machine.id).not.toBe("");
  });
}

/** What is done to a machine on either surface. */
function acts(service: VmService): void {
  describe.each(service.surfaces)("a machine of %s", (surface) => {
    test.each<[Mode<"pause">, number, string, boolean]>([
      ["missing", 409, "NotRunning", false],
      ["unable", 409, "HostCapabilityMissing", true],
      ["fault", 502, "HostRejected", true],
      ["lost", 502, "HostUnreachable", true],
    ])("whose pause it answers %s is %i %s", async (pause, code, name, retryable) => {
      await using machine = await (await service.newOrg()).make(surface);
      using _ = service.steer({ pause });
      const { status, json } = await machine.act("pause");
      expect([status, json]).toMatchObject([code, { code: name, ...(retryable && { retryable }) }]);
    });

    test.each<[Mode<"resume">, number, string]>([
      ["full", 503, "NoCapacity"],
      ["small", 507, "InsufficientCapacity"],
      ["fault", 502, "HostRejected"],
      ["foreign", 409, "SnapshotNotRestorable"],
      ["missing", 409, "SnapshotNotRestorable"],
    ])("whose resume it answers %s is %i %s, and stays paused", async (resume, code, name) => {
      const org = await service.newOrg();
      await using machine = await org.make(surface);
      await machine.act("pause");
      using _ = service.steer({ resume });
      const { status, json } = await machine.act("resume");
      expect([status, json]).toMatchObject([code, { code: name }]);
      expect(json).toHaveProperty("error");
      expect(await machine.record()).toMatchObject({ state: "paused" });
    });
  });
}

function sandboxActs(service: VmService): void {
  describe("a sandbox", () => {
    test.each<[Mode<"exec">, number, string]>([
      ["missing", 409, "NotRunning"],
      ["fault", 502, "HostUnreachable"],
      ["away", 502, "HostUnreachable"],
      ["odd", 502, "HostUnreachable"],
      ["drop", 502, "HostUnreachable"],
    ])("whose exec it answers %s is %i %s, never a result", async (exec, code, name) => {
      await using machine = await (await service.newOrg()).make();
      using _ = service.steer({ exec });
      const { status, json } = await machine.act("exec", { cmd: "true" });
      expect([status, json]).toMatchObject([code, { code: name }]);
      expect(json).not.toHaveProperty("exitCode");
    });

    test.each<[Mode<"metrics">, number, string]>([
      ["missing", 404, "NotFound"],
      ["fault", 502, "HostUnreachable"],
      ["odd", 502, "HostUnreachable"],
    ])("whose metrics it answers %s is %i %s", async (metrics, code, name) => {
      const org = await service.newOrg();
      await using machine = await org.make();
      using _ = service.steer({ metrics });
      const { status, json } = await org.get(`${machine.sandbox}/metrics`);
      expect([status, json]).toMatchObject([code, { code: name }]);
    });
  });
}

function snapshots(service: VmService): void {
  test("a fork of a snapshot of another platform is 409, for good", async () => {
    const org = await service.newOrg();
    await using machine = await org.make();
    const { snapshotId } = await org.snapshot(machine);
    const fork = () => org.post("/sandboxes", { fromSnapshot: snapshotId });
    {
      await using _ = await service.faults?.migrate();
      const { status, json } = await fork();
      expect([status, json]).toMatchObject([409, { code: "SnapshotNotRestorable" }]);
      expect(json).not.toHaveProperty("retryable", true);
    }
    await using child = org.made("/sandboxes", await fork());
    expect(child.id).not.toBe(machine.id);
  });
}
