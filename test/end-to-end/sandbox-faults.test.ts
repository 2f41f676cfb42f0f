import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { ErrorBody } from "@svc/contract/errors.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SandboxCreated, SandboxList, SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FakeVmMode } from "../support/fakes/vm-host.ts";
import { VmGateway } from "../support/process/vm-gateway.ts";
import { stateFolder } from "../support/process/state-folder.ts";

const PATIENCE = { timeout: 100_000, interval: 200 };
const LONG = 900_000;

let it: VmGateway;
let stateDir = "";

beforeAll(async () => {
  stateDir = await mkdtemp(join(stateFolder(), "svc-"));
  it = await VmGateway.start(stateDir);
});
afterAll(async () => {
  await it?.close();
  await rm(stateDir, { recursive: true, force: true });
});

const post = (path: string, body?: object, headers = {}) => it.call(path, "POST", body, headers);

async function create(): Promise<string> {
  return SandboxCreated.parse(await (await post("/sandboxes")).json()).sandboxId;
}

const read = async (id: string): Promise<SandboxRecord> =>
  SandboxRecord.parse(await (await it.call(`/sandboxes/${id}`)).json());

const exec = (id: string) => post(`/sandboxes/${id}/exec`, { cmd: "true" });

test(
  "a life with a restart of the gateway between every two steps",
  { timeout: LONG },
  async () => {
    const { id } = it;
    const path = `/sandboxes/${id}`;
    const steps: (() => Promise<void>)[] = [
      async () => expect(await read(id)).toMatchObject({ sandboxId: id, state: "running" }),
      async () => {
        const answer = await exec(id);
        expect(ExecResult.parse(await answer.json()).exitCode).toBe(0);
      },
      async () =>
        expect((await post(`${path}/timeout`, { timeoutMs: 3_600_000 })).status).toBe(200),
      async () => {
        const leftMs = Date.parse((await read(id)).expiresAt) - Date.now();
        // Its own window, not the two hours of the default.
        expect(leftMs).toBeGreaterThan(3_000_000);
        expect(leftMs).toBeLessThanOrEqual(3_600_000);
      },
      async () => expect(await (await post(`${path}/pause`)).json()).toEqual({ state: "paused" }),
      async () => expect((await read(id)).state).toBe("paused"),
      async () => expect((await exec(id)).status).toBe(409),
      async () => expect((await post(`${path}/resume`)).status).toBe(200),
      async () => expect((await exec(id)).status).toBe(200),
      async () => expect((await it.call(`${path}/metrics`)).status).toBe(200),
      async () => expect((await it.call(path, "DELETE")).status).toBe(200),
      async () => expect(await read(id)).toMatchObject({ state: "gone", closeReason: "deleted" }),
      async () => expect((await exec(id)).status).toBe(404),
      async () => {
        const { sandboxes } = SandboxList.parse(
          await (await it.call("/sandboxes?state=gone")).json(),
        );
        expect(sandboxes.map(({ sandboxId }) => sandboxId)).toEqual([id]);
      },
    ];
    for (const step of steps) {
      await it.restart(stateDir);
      await step();
    }
    expect([...it.host.vms, ...it.host.states.paused.keys()]).toEqual([]);
  },
);

test("a create whose client is cut off after it was accepted replays under its Idempotency-Key", async () => {
  const headers = { "idempotency-key": "cut" };
  it.host.mode = FakeVmMode.parse({ put: "wait" });
  const puts = () => it.host.calls.filter(({ method }) => method === "PUT").length;
  const before = puts();
  const client = new AbortController();
  const cut = fetch(new URL("/sandboxes", it.gateway.url), {
    method: "POST",
    headers: { authorization: `Bearer ${it.key}`, ...headers },
    signal: client.signal,
  });
  const went = cut.then(
    () => "answered",
    () => "cut",
  );
  await vi.waitFor(() => expect(puts()).toBeGreaterThan(before), PATIENCE);
  client.abort();
  expect(await went).toBe("cut");
  it.host.mode = FakeVmMode.parse({});
  it.host.events.emit("steered");
  const again = await post("/sandboxes", undefined, headers);
  expect(again.status).toBe(201);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  const { sandboxId } = SandboxCreated.parse(await again.json());
  expect([...it.host.vms].filter((id) => id !== it.id)).toEqual([sandboxId]);
  await it.call(`/sandboxes/${sandboxId}`, "DELETE");
});

describe("a host that is gone", () => {
  /** What an act is answered; every one of these must be worth trying again. */
  const refusal = async (answer: Response) => {
    const body = ErrorBody.parse(await answer.json());
    expect(body).not.toHaveProperty("exitCode");
    return { status: answer.status, code: body.code, retryable: body.retryable };
  };
  const retryable = true;
  const unreachable = { status: 502, code: "HostUnreachable", retryable };

  test("while a command runs is 502, and never an exit code", async () => {
    const id = await create();
    for (const mode of ["drop", "away", "fault", "odd"] as const) {
      it.host.mode = FakeVmMode.parse({ exec: mode });
      expect([mode, await refusal(await exec(id))]).toEqual([mode, unreachable]);
    }
    it.host.mode = FakeVmMode.parse({ exec: "hang" });
    const began = once(it.host.events, "exec");
    const running = exec(id);
    await began;
    it.host.cut();
    expect(await refusal(await running)).toEqual(unreachable);
    it.host.mode = FakeVmMode.parse({});
    expect((await exec(id)).status).toBe(200);
    await it.call(`/sandboxes/${id}`, "DELETE");
  });

  test("before a create, a pause, a resume, a command: each says that it can be tried again", async () => {
    const running = await create();
    const paused = await create();
    await post(`/sandboxes/${paused}/pause`);
    await it.host.leave();
    expect(await refusal(await exec(running))).toEqual(unreachable);
    expect(await refusal(await post(`/sandboxes/${running}/pause`))).toEqual(unreachable);
    expect(await refusal(await post(`/sandboxes/${paused}/resume`))).toMatchObject({
      status: 503,
      retryable,
    });
    expect(await refusal(await post("/sandboxes"))).toMatchObject({ status: 502, retryable });
    // Nothing was decided of what it holds: it is as it was, and there again once the host is.
    expect((await read(running)).state).toBe("running");
    expect((await read(paused)).state).toBe("paused");
    await it.host.comeBack();
    expect((await exec(running)).status).toBe(200);
    expect((await post(`/sandboxes/${paused}/resume`)).status).toBe(200);
  });
});
