import { ErrorBody } from "@svc/contract/errors.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { SandboxCreated, SandboxList, SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { killIfThere } from "../support/process/process-tree.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import type { VmHostProcess } from "../support/process/vm-host.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 300_000, interval: 500 };
const LONG = 900_000;

describe.skipIf(await missingMachine())("a sandbox", { timeout: LONG }, () => {
  let host: VmHostProcess;
  let call: RealMachines["call"];
  let machines: RealMachines;

  beforeAll(async () => {
    machines = await RealMachines.start();
    ({ host, call } = machines);
  }, LONG);
  afterAll(() => machines?.close());

  /** Creates one; while the host prepares its first machine, 503 says that it will be able to. */
  async function create(body: object = {}): Promise<string> {
    const response = await vi.waitFor(async () => {
      const answer = await call("/sandboxes", "POST", body);
      if (answer.status === 503) throw new Error(await answer.text());
      return answer;
    }, PATIENCE);
    expect(response.status).toBe(201);
    return SandboxCreated.parse(await response.json()).sandboxId;
  }

  const exec = (id: string, cmd: string, ...args: string[]) =>
    call(`/sandboxes/${id}/exec`, "POST", { cmd, args });

  async function read(id: string): Promise<SandboxRecord> {
    return SandboxRecord.parse(await (await call(`/sandboxes/${id}`)).json());
  }

  test("runs Python, says what it takes, is listed, and is gone when it is deleted", async () => {
    const id = await create({ envs: { WHO: "world" }, metadata: { job: "a" } });
    const line = "import os; print('hello', os.environ['WHO'])";
    const answer = await exec(id, "python3", "-c", line);
    expect(answer.status).toBe(200);
    expect(ExecResult.parse(await answer.json())).toEqual({
      exitCode: 0,
      stdout: "hello world\n",
      stderr: "",
    });
    const metrics = VmMetrics.parse(await (await call(`/sandboxes/${id}/metrics`)).json());
    expect(metrics.memTotalBytes).toBeGreaterThan(1e9);
    expect(metrics.contextScoped).toBe(false);
    const list = await call("/sandboxes?metadata.job=a");
    const { sandboxes } = SandboxList.parse(await list.json());
    expect(sandboxes.map(({ sandboxId }) => sandboxId)).toEqual([id]);
    const deleted = await call(`/sandboxes/${id}`, "DELETE");
    expect(await deleted.json()).toEqual({ ok: true });
    expect((await read(id)).state).toBe("gone");
    expect((await exec(id, "true")).status).toBe(404);
  });

  test("a failing and a missing command are results, not errors", async () => {
    const id = await create();
    const failed = await exec(id, "sh", "-c", "echo no >&2; exit 3");
    expect(await failed.json()).toEqual({ exitCode: 3, stdout: "", stderr: "no\n" });
    const missing = await exec(id, "no such program");
    expect(missing.status).toBe(200);
    expect(await missing.json()).toMatchObject({ exitCode: 127 });
    await call(`/sandboxes/${id}`, "DELETE");
  });

  test("sleeps and goes on where it was, also after its host was stopped and started", async () => {
    const id = await create();
    const shell = async (line: string) => {
      const answer = await exec(id, "sh", "-c", line);
      expect(answer.status).toBe(200);
      return ExecResult.parse(await answer.json()).stdout;
    };
    // In memory, not on the disk; and a process that goes on.
    await shell("echo kept > /dev/shm/note; (sleep 100000 & echo $! > /dev/shm/pid)");
    const paused = await call(`/sandboxes/${id}/pause`, "POST");
    expect(await paused.json()).toEqual({ state: "paused" });
    expect((await exec(id, "true")).status).toBe(409);
    const resumed = await call(`/sandboxes/${id}/resume`, "POST");
    expect(await resumed.json()).toMatchObject({ state: "running" });
    const look = "cat /dev/shm/note; kill -0 $(cat /dev/shm/pid) && echo alive";
    expect(await shell(look)).toBe("kept\nalive\n");
    // A host that is stopped saves what runs; its next start holds it.
    await host.kill("SIGTERM");
    await host.restart();
    await vi.waitFor(async () => expect((await read(id)).state).toBe("paused"), PATIENCE);
    await vi.waitFor(async () => {
      expect((await call(`/sandboxes/${id}/resume`, "POST")).status).toBe(200);
    }, PATIENCE);
    expect(await shell(look)).toBe("kept\nalive\n");
    await call(`/sandboxes/${id}`, "DELETE");
  });

  test("whose idle window is over sleeps", async () => {
    const id = await create({ timeoutMs: 1000 });
    await vi.waitFor(async () => {
      const { sandboxes } = SandboxList.parse(await (await call("/sandboxes?state=paused")).json());
      expect(sandboxes.map(({ sandboxId }) => sandboxId)).toContain(id);
    }, PATIENCE);
    await call(`/sandboxes/${id}`, "DELETE");
  });

  test("whose machine dies while a command runs: 502, then gone, and its place is free", async () => {
    const before = new Set(await host.machines());
    const id = await create();
    const running = exec(id, "sleep", "600");
    await vi.waitFor(async () => {
      const { stdout } = ExecResult.parse(await (await exec(id, "pgrep", "sleep")).json());
      expect(stdout).not.toBe("");
    }, PATIENCE);
    // Its machine is a warm one from before, or new: all end, and the others are made anew.
    for (const pid of new Set([...before, ...(await host.machines())])) killIfThere(pid);
    const answer = await running;
    expect(answer.status).toBe(502);
    expect(ErrorBody.parse(await answer.json())).toMatchObject({ retryable: true });
    await vi.waitFor(async () => {
      expect(await read(id)).toMatchObject({ state: "gone", closeReason: "machine_died" });
    }, PATIENCE);
  });

  test("whose host is killed while a command runs: 502, and gone when the host is back", async () => {
    const id = await create();
    const running = exec(id, "sleep", "600");
    await vi.waitFor(async () => {
      const { stdout } = ExecResult.parse(await (await exec(id, "pgrep", "sleep")).json());
      expect(stdout).not.toBe("");
    }, PATIENCE);
    await host.kill("SIGKILL");
    expect((await running).status).toBe(502);
    // Nothing has said yet that the host will not come back with it.
    expect((await read(id)).state).toBe("running");
    await host.restart();
    await vi.waitFor(async () => {
      expect(await read(id)).toMatchObject({ state: "gone", closeReason: "host_lost" });
    }, PATIENCE);
    const next = await create();
    expect((await exec(next, "true")).status).toBe(200);
    await call(`/sandboxes/${next}`, "DELETE");
  });
});
