import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost } from "../../support/worker/vm-host.ts";

async function running(body?: object) {
  const host = await newVmHost();
  const { key } = await newOrg("professional");
  const { sandboxId: id } = await newSandbox(key, body);
  const path = `/sandboxes/${id}`;
  const exec = (body: unknown) => call(`${path}/exec`, { ...json(body), bearer: key });
  return { host, key, id, path, exec, stub: env.SANDBOXES.getByName(id) };
}

/** What the host was told to run: the fake says it back on stdout. */
async function asked(response: Response): Promise<Exec> {
  expect(response.status).toBe(200);
  const { stdout } = ExecResult.parse(await response.json());
  return Exec.parse(JSON.parse(stdout));
}

describe("POST exec", async () => {
  const { exec, host } = await running();
  // One that is not heard for 15 s would be away.
  beforeEach(() => host.beat());
  test("exec answers what the command did", async () => {
    const body = { cmd: "python3", args: ["-c", "print(1)"], cwd: "/tmp", timeoutMs: 5000 };
    const response = await exec(body);
    expect(await response.json()).toEqual({
      exitCode: 0,
      stdout: JSON.stringify(body),
      stderr: "",
    });
  });

  test.each([
    ["args", "-c", []],
    ["args", { length: 1 }, []],
    ["args", null, []],
    ["args", ["a", 1, true, null], ["a", "1", "true", "null"]],
    ["cwd", 5, undefined],
    ["cwd", "", undefined],
    ["timeoutMs", "5", undefined],
    ["timeoutMs", -5, undefined],
    ["env", { A: "b" }, undefined],
    ["user", "root", undefined],
  ])("exec with %s of %o never refuses", async (field, value, expected) => {
    const told = await asked(await exec({ cmd: "true", [field]: value }));
    expect(told).toEqual({ cmd: "true", args: [], ...(expected && { [field]: expected }) });
  });

  test.each(["", "a\0b", "a".repeat(5_000)])(
    "exec of a cmd of %j is the machine's to judge",
    async (cmd) => {
      expect(await asked(await exec({ cmd, args: ["c\0d"] }))).toEqual({ cmd, args: ["c\0d"] });
    },
  );

  test.each([{}, { cmd: 5 }, { cmd: null }, { cmd: ["a"] }])(
    "exec with a body of %o is 400 and names cmd",
    async (body) => {
      const response = await exec(body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "ValidationError", field: "cmd" });
    },
  );

  test.each([[["a"]], ["text"], [5], [null]])(
    "exec with a body of %o is 400 InvalidJson",
    async (body) => {
      const response = await exec(body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "InvalidJson" });
    },
  );
});

test.each([
  ["drop", 502, "HostUnreachable"],
  ["fault", 502, "HostUnreachable"],
  ["away", 502, "HostUnreachable"],
  ["odd", 502, "HostUnreachable"],
  ["missing", 409, "NotRunning"],
])("exec where the host answers %s is %i, never a success", async (mode, status, code) => {
  const { host, exec } = await running();
  await host.steer({ exec: mode });
  const response = await exec({ cmd: "true" });
  expect(response.status).toBe(status);
  const retryable = status === 502 ? { retryable: true } : {};
  expect(await response.json()).toEqual({ error: expect.any(String), code, ...retryable });
});

test.each([
  ["paused", "The sandbox is paused. Resume it."],
  ["interrupted", "The sandbox was paused while the command ran. Resume it."],
])("exec where the host says that the machine is %s is 409", async (mode, error) => {
  const { host, exec } = await running();
  await host.steer({ exec: mode });
  const response = await exec({ cmd: "true" });
  expect(response.status).toBe(409);
  expect(await response.json()).toEqual({ error, code: "NotRunning" });
});

test("exec that a pause breaks off is 409, and is not run again by autoResume", async () => {
  const { host, exec, path, key } = await running({ lifecycle: { autoResume: true } });
  await host.steer({ exec: "hang" });
  const waiting = exec({ cmd: "sleep" });
  await vi.waitFor(async () => expect(await host.calls("POST", "exec")).toHaveLength(1), 30_000);
  expect((await call(`${path}/pause`, { method: "POST", bearer: key })).status).toBe(200);
  const response = await waiting;
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({ code: "NotRunning" });
  expect(await host.calls("POST", "exec")).toHaveLength(1);
});

test("exec in a machine whose agent does not answer says so", async () => {
  const { host, exec } = await running();
  await host.steer({ exec: "away" });
  const response = await exec({ cmd: "true" });
  expect(response.status).toBe(502);
  const error = "The agent of this machine does not answer. Try again in a minute.";
  expect(await response.json()).toEqual({ error, code: "HostUnreachable", retryable: true });
});

test("exec on a host that falls silent while the command runs is 502 then, and the sandbox stays", async () => {
  const { host, exec, stub, id } = await running();
  await host.steer({ exec: "hang" });
  const waiting = exec({ cmd: "sleep", args: ["1000"] });
  await vi.waitFor(async () => expect(await host.calls("POST", "exec")).toHaveLength(1), 30_000);
  const { bootId } = await host.steer();
  const source = { hostId: host.hostId, bootId };
  await stub.hostChanged(source, { type: "hostAway", seenAt: Date.now() });
  expect((await waiting).status).toBe(502);
  expect((await exec({ cmd: "true" })).status).toBe(502);
  expect(await runInDurableObject(stub, (object) => object.read()?.state)).toBe("running");
  await host.steer({});
  await stub.hostChanged(source, { type: "hostBack", seenAt: Date.now() });
  expect((await exec({ cmd: "true" })).status).toBe(200);
  expect(await host.held()).toEqual([id]);
});

test("exec on a sandbox that is deleted while the command runs is 502", async () => {
  const { host, key, path, exec } = await running();
  await host.steer({ exec: "hang" });
  const waiting = exec({ cmd: "sleep" });
  await vi.waitFor(async () => expect(await host.calls("POST", "exec")).toHaveLength(1), 30_000);
  await call(path, { method: "DELETE", bearer: key });
  expect((await waiting).status).toBe(502);
});

test("exec while the sandbox starts is 409 NotRunning", async () => {
  const { host, key } = await running();
  await host.steer({ put: "wait" });
  const creating = call("/sandboxes", { method: "POST", bearer: key });
  const starting = async () => {
    const response = await call("/sandboxes?state=starting", { bearer: key });
    return (await response.json<{ sandboxes: { sandboxId: string }[] }>()).sandboxes[0]?.sandboxId;
  };
  const id = await vi.waitFor(async () => {
    const found = await starting();
    if (!found) throw new Error("not yet");
    return found;
  }, 30_000);
  const response = await call(`/sandboxes/${id}/exec`, { ...json({ cmd: "true" }), bearer: key });
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({ code: "NotRunning" });
  await vi.waitFor(async () => expect(await host.calls("PUT")).toHaveLength(2), 30_000);
  await host.steer({ put: "fault" });
  expect((await creating).status).toBe(502);
});
