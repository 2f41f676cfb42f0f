import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ErrorBody } from "@svc/contract/errors.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SandboxCreated, SandboxRecord, SandboxResumed } from "@svc/contract/vm/sandbox.ts";
import { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RealMachines } from "../support/process/real-machines.ts";
import type { VmHostProcess } from "../support/process/vm-host.ts";
import { cacheDirOf } from "../../vm-host/config.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 240_000, interval: 500 };
const LONG = 600_000;

/** Ids of the machines of which some host here has a checkpoint. */
async function checkpointed(): Promise<string[]> {
  const records = join(cacheDirOf(process.env), "records");
  // Not those that are still being written.
  const files = (await readdir(records, { recursive: true })).filter(
    (name) => name.endsWith("/record.json") && !name.includes(".tmp"),
  );
  const texts = await Promise.all(
    files.map((name) => readFile(join(records, name), "utf8").catch(() => "null")),
  );
  const kept = texts.map((text): { kind: string; id: string } | null => JSON.parse(text));
  return kept.flatMap((record) => (record?.kind === "checkpoint" ? [record.id] : []));
}

describe.skipIf(await missingMachine())("snapshots of a real machine", { timeout: LONG }, () => {
  let host: VmHostProcess;
  let call: RealMachines["call"];
  let machines: RealMachines;
  let aged: string;

  beforeAll(async () => {
    machines = await RealMachines.start();
    ({ host, call } = machines);
    // Its checkpoint is a minute away: the minute passes while others are tested.
    const lifecycle = { checkpointEveryMs: 60_000, parkAfterMs: 5000, parkMaxMs: 10_000 };
    aged = (await create({ memMb: 512, lifecycle })).sandboxId;
    await write(aged, "kept");
  }, LONG);
  afterAll(() => machines?.close());

  async function create(body: object): Promise<SandboxCreated> {
    const response = await vi.waitFor(async () => {
      const answer = await call("/sandboxes", "POST", body);
      if (answer.status >= 500) throw new Error(await answer.text());
      return answer;
    }, PATIENCE);
    return SandboxCreated.parse(await response.json());
  }

  async function sh(id: string, line: string): Promise<string> {
    const body = { cmd: "sh", args: ["-c", line] };
    const response = await call(`/sandboxes/${id}/exec`, "POST", body);
    return ExecResult.parse(await response.json()).stdout.trim();
  }

  const snapshotOf = async (id: string, body: object): Promise<SnapshotRecord> =>
    SnapshotRecord.parse(await (await call(`/sandboxes/${id}/snapshots`, "POST", body)).json());

  const stateOf = async (id: string) =>
    SandboxRecord.parse(await (await call(`/sandboxes/${id}`)).json()).state;

  // In memory, on the disk, and a process that goes on.
  const WRITE = "echo $0 > /dev/shm/note; echo $0 > /root/note; sync";
  const write = (id: string, word: string) => sh(id, WRITE.replaceAll("$0", word));
  const read = (id: string) => sh(id, "echo $(cat /dev/shm/note /root/note)");

  test("are forked and reverted to, and are not deleted while something lives that came from them", async () => {
    const { sandboxId: id } = await create({ memMb: 512, diskGb: 4 });
    await write(id, "first");
    const first = await snapshotOf(id, { name: "first", metadata: { job: "a" } });
    expect(first).toMatchObject({ state: "ready", sandboxId: id, name: "first", children: 0 });
    expect(first.sizeBytes).toBeGreaterThan(0);
    expect(first.platform?.arch).toMatch(/^(x86_64|aarch64)$/);
    // It went on: what comes after is not in the snapshot.
    await write(id, "second");
    const fork = await create({ fromSnapshot: first.snapshotId, cpu: 8, envs: { WHO: "fork" } });
    expect(fork).toMatchObject({ cpu: first.cpu, memMb: first.memMb, diskGb: first.diskGb });
    expect(await read(fork.sandboxId)).toBe("first first");
    expect(await sh(fork.sandboxId, "echo $WHO")).toBe("fork");
    expect(await read(id)).toBe("second second");
    const path = `/snapshots/${first.snapshotId}`;
    expect(await (await call(path)).json()).toMatchObject({ children: 1 });
    const refused = await call(path, "DELETE");
    expect(refused.status).toBe(409);
    expect(ErrorBody.parse(await refused.json())).toMatchObject({
      code: "SnapshotHasChildren",
      children: 1,
    });
    const wish = { snapshotId: first.snapshotId };
    // Of a running one, and of a paused one.
    for (const before of ["timeout", "pause"]) {
      await write(id, "third");
      expect((await call(`/sandboxes/${id}/${before}`, "POST")).status).toBe(200);
      const reverted = await call(`/sandboxes/${id}/revert`, "POST", wish);
      expect(reverted.status).toBe(200);
      expect(SandboxResumed.parse(await reverted.json()).state).toBe("running");
      expect(await read(id)).toBe("first first");
    }
    const other = await call(`/sandboxes/${fork.sandboxId}/revert`, "POST", wish);
    expect(other.status).toBe(400);
    expect((await call(`/sandboxes/${fork.sandboxId}`, "DELETE")).status).toBe(200);
    expect(await (await call(path, "DELETE")).json()).toEqual({ ok: true });
    expect((await call(path)).status).toBe(404);
    // What it is now outlives the snapshot.
    expect(await read(id)).toBe("first first");
    await call(`/sandboxes/${id}`, "DELETE");
  });

  test("a machine with a checkpoint outlives its host's sudden death, as of the checkpoint", async () => {
    const id = aged;
    // Idle, it is parked meanwhile; it is saved all the same.
    await vi.waitFor(async () => expect(await checkpointed()).toContain(id), PATIENCE);
    await host.kill("SIGKILL");
    await host.restart();
    await vi.waitFor(async () => expect(await stateOf(id)).toBe("paused"), PATIENCE);
    await vi.waitFor(async () => {
      expect((await call(`/sandboxes/${id}/resume`, "POST")).status).toBe(200);
    }, PATIENCE);
    expect(await read(id)).toBe("kept kept");
    await call(`/sandboxes/${id}`, "DELETE");
  });
});
