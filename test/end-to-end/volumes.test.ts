import { ErrorBody } from "@svc/contract/errors.ts";
import { GIB_BYTES } from "@svc/contract/plans.ts";
import { Usage } from "@svc/contract/usage.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { Volume } from "@svc/contract/vm/volume.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { TestGateway } from "../support/process/gateway.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import { VmHostProcess } from "../support/process/vm-host.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 300_000, interval: 500 };
const LONG = 900_000;

describe.skipIf(await missingMachine())("a volume", { timeout: LONG }, () => {
  let gateway: TestGateway;
  let first: VmHostProcess;
  let call: RealMachines["call"];
  let machines: RealMachines;

  beforeAll(async () => {
    machines = await RealMachines.start({}, "vm-first");
    ({ gateway, host: first, call } = machines);
  }, LONG);
  afterAll(() => machines?.close());

  const ask = (volumeId: string) =>
    call("/sandboxes", "POST", { memMb: 512, volumes: [{ volumeId, path: "/data" }] });

  /** Waits while a host prepares its first machine, or the volume is on its way to the store. */
  async function createWith(volumeId: string): Promise<string> {
    return vi.waitFor(async () => {
      const answer = await ask(volumeId);
      if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
      return SandboxCreated.parse(await answer.json()).sandboxId;
    }, PATIENCE);
  }

  async function sh(id: string, line: string): Promise<string> {
    const answer = await call(`/sandboxes/${id}/exec`, "POST", { cmd: "sh", args: ["-c", line] });
    return ExecResult.parse(await answer.json()).stdout.trim();
  }

  const kept = async () => Usage.parse(await (await call("/usage")).json()).kept;

  test("outlives its machine, its host's process and its host", async () => {
    const made = await call("/volumes", "POST", { name: "work", sizeMb: 64 });
    const { volumeId } = Volume.parse(await made.json());
    const writer = await createWith(volumeId);
    await sh(writer, "head -c 5000000 /dev/urandom > /data/f; cp /data/f /data/g");
    const sum = await sh(writer, "sha256sum < /data/f");
    const taken = await ask(volumeId);
    expect([taken.status, ErrorBody.parse(await taken.json())]).toMatchObject([
      409,
      { code: "VolumeAlreadyAttached", holder: writer },
    ]);
    await call(`/sandboxes/${writer}/pause`, "POST");
    expect((await call(`/volumes/${volumeId}`, "DELETE")).status).toBe(409);
    // The memory that the guest has written at least, and less than all that the machine has.
    const { machines: paused, gib } = await kept();
    expect(paused.used).toBe(1);
    expect(gib.machines).toBeGreaterThan(0.01);
    expect(gib.machines).toBeLessThan(4);
    await call(`/sandboxes/${writer}/resume`, "POST");
    expect(await sh(writer, "sha256sum < /data/g")).toBe(sum);
    expect((await call(`/sandboxes/${writer}`, "DELETE")).status).toBe(200);

    // The same host, at once.
    const reader = await createWith(volumeId);
    expect(await sh(reader, "sha256sum < /data/f; echo more > /data/h")).toBe(sum);
    await call(`/sandboxes/${reader}`, "DELETE");

    const bucket = await gateway.miniflare.getR2Bucket("OBJECTS", "gateway");
    const manifest = () => bucket.get(`${volumeId}/manifest.json`);
    await vi.waitFor(
      async () => expect(await (await manifest())?.json()).toMatchObject({ isOpen: false }),
      PATIENCE,
    );
    const { machines: left, gib: inStore } = await kept();
    expect([left.used, inStore.machines]).toEqual([0, 0]);
    // Two files of 5 MB that nothing packs, and the file system around them: not the 16 GiB of its image.
    expect(inStore.volumes).toBeGreaterThan(10_000_000 / GIB_BYTES);
    expect(inStore.volumes).toBeLessThan(1);
    await first.close();
    const second = await VmHostProcess.start(gateway, "vm-second");
    try {
      const heir = await createWith(volumeId);
      expect(await sh(heir, "sha256sum < /data/f; cat /data/h")).toBe(`${sum}\nmore`);
      await call(`/sandboxes/${heir}`, "DELETE");
      expect(await (await call(`/volumes/${volumeId}`, "DELETE")).json()).toEqual({ ok: true });
      expect((await ask(volumeId)).status).toBe(404);
    } finally {
      await second.close();
    }
  });
});
