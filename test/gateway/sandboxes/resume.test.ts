import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { ends, paused, running } from "../../support/worker/asleep.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { newSandbox } from "../../support/worker/vm-host.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

test("a resume lets the sandbox run on, with a new span of its bill", async () => {
  const { host, orgId, id, post, state } = await paused();
  const response = await post("resume");
  expect(response.status).toBe(200);
  const controlUrl = `ws://svc.test/control/${id}`;
  expect(await response.json()).toEqual({ state: "running", controlUrl });
  expect(await state()).toBe("running");
  expect(await host.states()).toEqual({ [id]: "running" });
  expect((await post("exec", { cmd: "true" })).status).toBe(200);
  await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true, false]), 30_000);
});

test("a resume of a sandbox that is not paused is 409, of one that is gone 404", async () => {
  const { key, path, post } = await running();
  const response = await post("resume");
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({ code: "NotPaused" });
  await call(path, { method: "DELETE", bearer: key });
  expect((await post("resume")).status).toBe(404);
  expect((await post("pause")).status).toBe(404);
});

test("a resume waits for a pause that is under way", async () => {
  const { post, state } = await running();
  const answers = await Promise.all([post("pause"), post("resume")]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await state()).toBe("running");
});

test("a resume is 429 when the cap was filled meanwhile, and possible again when a place is free", async () => {
  const { key, post, state } = await paused();
  const other = await newSandbox(key);
  const response = await post("resume");
  expect(response.status).toBe(429);
  expect(await response.json()).toMatchObject({
    code: "ConcurrencyLimitExceeded",
    kind: "vm",
    cap: 1,
    holders: [other.sandboxId],
  });
  expect(await state()).toBe("paused");
  await call(`/sandboxes/${other.sandboxId}`, { method: "DELETE", bearer: key });
  expect((await post("resume")).status).toBe(200);
});

test.each([
  ["full", 503, "NoCapacity"],
  ["small", 507, "InsufficientCapacity"],
  ["foreign", 409, "SnapshotNotRestorable"],
  ["missing", 409, "SnapshotNotRestorable"],
  ["fault", 502, "HostRejected"],
])(
  "a resume where the host answers %s is %i, leaves the sandbox paused and holds no place",
  async (mode, status, code) => {
    const { host, key, post, state } = await paused();
    await host.steer({ resume: mode });
    const response = await post("resume");
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code });
    expect(await state()).toBe("paused");
    await newSandbox(key);
  },
);

test("a resume whose answer is lost is 503; the machine that runs is not ended but found", async () => {
  const { host, id, post, state } = await paused();
  await host.steer({ resume: "lost" });
  expect((await post("resume")).status).toBe(503);
  expect((await host.beat()).end).toEqual([]);
  expect(await state()).toBe("running");
  expect(await host.states()).toEqual({ [id]: "running" });
});

test("a resume is refused without entitlement or credit, but not because the control plane fails", async () => {
  const { key, orgId, id, post, state } = await paused();
  const patch = (body: object) =>
    call(`/admin/orgs/${orgId}`, { ...json(body, "PATCH"), bearer: ADMIN_TOKEN });
  await patch({ overrides: { features: { sandboxes: false } } });
  const response = await post("resume");
  expect([response.status, await response.json()]).toMatchObject([403, { code: "NotEntitled" }]);
  await patch({ overrides: {}, creditCents: 0 });
  const broke = await post("resume");
  expect([broke.status, await broke.json()]).toMatchObject([402, { code: "InsufficientCredit" }]);
  const ORGS = {
    getByName: () => ({ resumeSandbox: () => Promise.reject(new Error("wedged")) }),
  };
  const fail = () => Promise.reject(new Error("D1 is down"));
  const DB = { prepare: () => ({ bind: () => ({ run: fail, first: fail, all: fail }) }) };
  const init = { method: "POST", headers: { authorization: `Bearer ${key}` } };
  const bare = { ...env, ORGS, DB };
  expect((await app.request(`/sandboxes/${id}/resume`, init, bare)).status).toBe(200);
  expect(await state()).toBe("running");
});
