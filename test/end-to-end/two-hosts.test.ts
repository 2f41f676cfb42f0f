import { rmSync } from "node:fs";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SandboxCreated, SandboxList, SandboxResumed } from "@svc/contract/vm/sandbox.ts";
import { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { Volume } from "@svc/contract/vm/volume.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RealMachines } from "../support/process/real-machines.ts";
import { otherCache } from "../support/process/vm-cache.ts";
import { VmHostProcess } from "../support/process/vm-host.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";
import { ADMIN_TOKEN } from "../support/secrets.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 240_000, interval: 500 };
const LONG = 900_000;

describe.skipIf(await missingMachine())("two hosts behind one gateway", { timeout: LONG }, () => {
  let machines: RealMachines;
  let first: VmHostProcess;
  let second: VmHostProcess | undefined;
  let call: RealMachines["call"];
  const cache = otherCache();

  beforeAll(async () => {
    machines = await RealMachines.start({}, "vm-first");
    ({ host: first, call } = machines);
  }, LONG);
  afterAll(async () => {
    await second?.close();
    await machines?.close();
    rmSync(cache, { recursive: true });
  });

  const insist = (path: string, body?: object): Promise<Response> =>
    machines.insist(path, body, PATIENCE.timeout);

  const create = async (body: object): Promise<string> =>
    SandboxCreated.parse(await (await insist("/sandboxes", body)).json()).sandboxId;

  async function sh(id: string, line: string): Promise<string> {
    const answer = await call(`/sandboxes/${id}/exec`, "POST", { cmd: "sh", args: ["-c", line] });
    const { stdout, stderr } = ExecResult.parse(await answer.json());
    return `${stdout}${stderr}`.trim();
  }

  /** By the list, which is no use of it. */
  async function stateOf(id: string) {
    const { sandboxes } = SandboxList.parse(await (await call("/sandboxes")).json());
    return sandboxes.find(({ sandboxId }) => sandboxId === id)?.state;
  }

  /** How many records of machines are whole in the object store. */
  async function stored(): Promise<number> {
    const bucket = await machines.gateway.miniflare.getR2Bucket("OBJECTS", "gateway");
    const { objects } = await bucket.list();
    return objects.filter(({ key }) => /rec_|snap_/.test(key) && key.endsWith("/manifest.json"))
      .length;
  }

  const resume = async (id: string): Promise<SandboxResumed> => {
    const answer = await insist(`/sandboxes/${id}/resume`);
    return SandboxResumed.parse(await answer.json());
  };

  const LEFT = "cat /dev/shm/note /root/note; echo $COLOUR; hostname; cat /run/ticks.is";
  // A process that counts in memory alone, and says on demand how far it is.
  const TICKS = "n=0; while :; do n=$((n+1)); echo $n > /run/ticks; sleep 0.1; done";

  test("what rests on one that is killed and stays away goes on at the other one, whole", async () => {
    // It falls asleep while the other one is worked with, but not before it was told what to remember.
    const lifecycle = { parkAfterMs: 10_000, hibernateAfterParkedMs: 5000, autoResume: true };
    const asleep = await create({ memMb: 512, lifecycle });
    await sh(asleep, "echo asleep > /dev/shm/note");
    const made = await call("/volumes", "POST", { name: "work", sizeMb: 64 });
    const { volumeId } = Volume.parse(await made.json());
    const volumes = [{ volumeId, path: "/data" }];
    const paused = await create({ memMb: 512, envs: { COLOUR: "blue" }, volumes });
    await sh(paused, `setsid sh -c '${TICKS}' >/dev/null 2>&1 & echo ram > /dev/shm/note`);
    // Neither is written out: they are in the page cache alone.
    await sh(
      paused,
      "echo disk > /root/note; echo volume > /data/note; echo still > /run/ticks.is",
    );
    const left = await sh(paused, LEFT);
    const taken = await call(`/sandboxes/${paused}/snapshots`, "POST", { name: "before" });
    const { snapshotId } = SnapshotRecord.parse(await taken.json());
    await sh(paused, "echo later > /dev/shm/note; echo later > /root/note");
    const later = await sh(paused, LEFT);

    expect(await (await call(`/sandboxes/${paused}/pause`, "POST")).json()).toMatchObject({
      state: "paused",
    });
    await vi.waitFor(async () => expect(await stateOf(asleep)).toBe("paused"), PATIENCE);
    await vi.waitFor(async () => expect(await stored()).toBe(3), PATIENCE);
    await first.kill("SIGKILL");

    second = await VmHostProcess.start(machines.gateway, "vm-second", {
      SVC_CACHE_DIR: cache,
      SVC_WARM_VM: "0",
      SVC_WARM_DESKTOP: "0",
    });
    expect(await resume(paused)).toMatchObject({ state: "running" });
    expect(await sh(paused, LEFT)).toBe(later);
    expect(await sh(paused, "cat /data/note")).toBe("volume");
    const count = Number(await sh(paused, "cat /run/ticks"));
    await vi.waitFor(async () => {
      expect(Number(await sh(paused, "cat /run/ticks"))).toBeGreaterThan(count);
    }, PATIENCE);
    await resume(asleep);
    expect(await sh(asleep, "cat /dev/shm/note")).toBe("asleep");

    // The snapshot, too, is to be had where it was not taken: forked, and gone back to.
    const fork = await create({ fromSnapshot: snapshotId, envs: { COLOUR: "red" } });
    expect(await sh(fork, "cat /dev/shm/note /root/note; echo $COLOUR")).toBe("ram\ndisk\nred");
    const back = await insist(`/sandboxes/${paused}/revert`, { snapshotId });
    expect(SandboxResumed.parse(await back.json()).state).toBe("running");
    expect(await sh(paused, LEFT)).toBe(left);
    // A volume is not part of a snapshot.
    expect(await sh(paused, "cat /data/note")).toBe("volume");

    // The one that comes back has them still, and they are not its own any more.
    await first.restart();
    await vi.waitFor(async () => {
      const hosts = await fetch(new URL("/admin/hosts", machines.gateway.url), {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      expect(await hosts.text()).toContain("vm-first");
    }, PATIENCE);
    expect(await sh(paused, "cat /dev/shm/note; echo more > /dev/shm/note")).toBe("ram");
    expect(await stateOf(paused)).toBe("running");
    await call(`/sandboxes/${paused}/pause`, "POST");
    await resume(paused);
    expect(await sh(paused, "cat /dev/shm/note /data/note")).toBe("more\nvolume");
    for (const id of [paused, asleep, fork])
      expect((await call(`/sandboxes/${id}`, "DELETE")).status).toBe(200);
  });
});
