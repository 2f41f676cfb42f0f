import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test } from "vitest";
import type { VmService } from "../vm-caller.ts";

const HOUR_MS = 3_600_000;
const HALF_MINUTE_MS = 30_000;
const DEFAULT_MS = { "/sandboxes": 2 * HOUR_MS, "/desktops": HOUR_MS / 2 };
/** Templates and volumes that nobody has. */
const ABSENT = { template: "tpl_AAAAAAAAAAAAAAAAAAAA", volume: `vol_${"0".repeat(32)}` };

/** Document 2: what a create is asked and answers, on both surfaces. */
export function create(service: VmService): void {
  describe.each(service.surfaces)("POST %s", (surface) => {
    test("without a body is all defaults, reached at its controlUrl, with the default idle window", async () => {
      const org = await service.newOrg();
      const before = Date.now();
      await using machine = await org.make(surface);
      const sockets = service.base.origin.replace(/^http/, "ws");
      expect(machine.controlUrl).toBe(`${sockets}/control/${encodeURIComponent(machine.id)}`);
      const isDesktop = surface === "/desktops";
      const screen = isDesktop ? `${sockets}/stream/${encodeURIComponent(machine.id)}` : "";
      expect(machine.streamUrl).toBe(screen);
      const windowMs = Date.parse(machine.expiresAt) - before;
      expect(windowMs).toBeGreaterThanOrEqual(DEFAULT_MS[surface]);
      expect(await machine.record()).toMatchObject({
        sandboxId: machine.id,
        kind: isDesktop ? "desktop" : "sandbox",
        state: "running",
        template: isDesktop ? "default" : "base",
        metadata: {},
        cpu: 2,
        memMb: 2048,
      });
    });

    test("takes null for the default, and unknown fields for nothing", async () => {
      const org = await service.newOrg();
      const nulls = { template: null, cpu: null, memMb: null, timeoutMs: null, lifecycle: null };
      await using machine = await org.make(surface, { ...nulls, volumes: null, colour: "red" });
      expect(await machine.record()).toMatchObject({ cpu: 2, memMb: 2048 });
    });

    test("clamps an idle window to the plan's, and refuses none that is longer", async () => {
      const org = await service.newOrg("professional", { vmIdleMaxMs: 90_000 });
      const before = Date.now();
      await using machine = await org.make(surface, { timeoutMs: 1e12 });
      const windowMs = Date.parse(machine.expiresAt) - before;
      expect(windowMs).toBeGreaterThanOrEqual(90_000);
      expect(windowMs).toBeLessThan(90_000 + 2 * HALF_MINUTE_MS);
    });

    test.each(["not json", "[1]", '"a"', "5", "null"])("of the body %s is 400", async (body) => {
      const answer = await (await service.newOrg()).post(surface, body);
      expect([answer.status, answer.json]).toMatchObject([400, { code: "InvalidJson" }]);
    });

    test.each([
      ["cpu", { cpu: 0 }],
      ["cpu", { cpu: 9 }],
      ["cpu", { cpu: 1.5 }],
      ["cpu", { cpu: "2" }],
      ["memMb", { memMb: 16_385 }],
      ["timeoutMs", { timeoutMs: 999 }],
      ["timeoutMs", { timeoutMs: "5000" }],
      ["template", { template: "nowhere" }],
      ["resolution", { resolution: "wide" }],
      ["record", { record: "yes" }],
      ["isolation", { isolation: "none" }],
      ["lifecycle.onTimeout", { lifecycle: { onTimeout: "sleep" } }],
      ["lifecycle.autoResume", { lifecycle: { autoResume: "yes" } }],
      ["lifecycle", { lifecycle: { colour: "red" } }],
      ["metadata.a", { metadata: { a: 1 } }],
      ["volumes.0.path", { volumes: [{ volumeId: ABSENT.volume, path: "relative" }] }],
    ])("with a wrong %s is 400 and names it: %j", async (field, body) => {
      const answer = await (await service.newOrg()).post(surface, body);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({
        code: "ValidationError",
        field,
        error: expect.stringMatching(new RegExp(`^${field.replaceAll(".", "\\.")}: .`)),
      });
    });

    test("of a template or a volume that nobody has is 404", async () => {
      const org = await service.newOrg();
      const volumes = [{ volumeId: ABSENT.volume, path: "/data" }];
      for (const body of [{ template: ABSENT.template }, { volumes }]) {
        const answer = await org.post(surface, body);
        expect([answer.status, answer.json]).toMatchObject([404, { code: "NotFound" }]);
      }
    });
  });

  sandboxesOnly(service);
}

/** What the older surface has not. */
function sandboxesOnly(service: VmService): void {
  describe("POST /sandboxes alone", () => {
    // A size of its own costs a real host a template of its own.
    const size = service.faults ? { cpu: 1, memMb: 300 } : {};
    const gotten = service.faults ? { cpu: 1, memMb: 512 } : { cpu: 2, memMb: 2048 };
    test("says what was got, not what was asked", async () => {
      const org = await service.newOrg();
      const body = { ...size, isolation: "hardened", metadata: { a: "b" } };
      const answer = await org.post("/sandboxes", body);
      await using machine = org.made("/sandboxes", answer);
      const { diskGb, ...got } = SandboxCreated.parse(answer.json);
      expect(got).toMatchObject({ kind: "sandbox", isolation: "hardened", ...gotten });
      expect(got.enforcement).toEqual({ cpu: "vm", memMb: "vm" });
      expect(await machine.record()).toMatchObject({ ...gotten, diskGb, metadata: { a: "b" } });
    });

    test.each([
      ["kind", { kind: "phone" }],
      ["diskGb", { diskGb: 21 }],
      ["envs.A", { envs: { A: 1 } }],
      ["template", { template: "default" }],
      ["cpu", { isolation: "shared", cpu: 5 }],
      ["memMb", { isolation: "shared", memMb: 2049 }],
      ["lifecycle.parkAfterMs", { isolation: "shared", lifecycle: { parkAfterMs: 5000 } }],
      ["volumes", { volumes: [0, 1].map(() => ({ volumeId: ABSENT.volume, path: "/data" })) }],
    ])("with a wrong %s is 400 and names it: %j", async (field, body) => {
      const answer = await (await service.newOrg()).post("/sandboxes", body);
      expect([answer.status, answer.json]).toMatchObject([400, { code: "ValidationError", field }]);
    });

    test.each([
      ["RecordingRequiresDesktop", { record: true }],
      ["RecordingRequiresGoldenBoot", { record: true, kind: "desktop", fromSnapshot: "snap_1" }],
      ["RecordingRequiresGoldenBoot", { record: true, kind: "desktop", template: ABSENT.template }],
    ])("is 400 %s for %j", async (code, body) => {
      const answer = await (await service.newOrg()).post("/sandboxes", body);
      expect([answer.status, answer.json]).toMatchObject([400, { code }]);
    });

    test("of a snapshot that nobody has is 404", async () => {
      const answer = await (await service.newOrg()).post("/sandboxes", { fromSnapshot: "snap_1" });
      expect([answer.status, answer.json]).toMatchObject([404, { code: "NotFound" }]);
    });
  });

  test.runIf(service.can.has("desktop"))("POST /sandboxes makes desktops too", async () => {
    const org = await service.newOrg();
    const answer = await org.post("/sandboxes", { kind: "desktop", resolution: "800x600" });
    await using machine = org.made("/sandboxes", answer);
    expect(machine.streamUrl).toContain("/stream/");
    const { json } = await org.get(`/desktops/${encodeURIComponent(machine.id)}`);
    expect(json).toMatchObject({ sessionId: machine.id, status: "ready", orgId: org.orgId });
  });

  test.runIf(service.can.has("recording"))("record: true answers a signed URL", async () => {
    const org = await service.newOrg();
    const answer = await org.post("/desktops", { record: true });
    await using machine = org.made("/desktops", answer);
    expect(answer.json).toMatchObject({ recordingUrl: expect.stringMatching(/^https?:/) });
    expect(machine.id).not.toBe("");
  });
}
