import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { DutyRecord } from "../../../durable-objects/live/duty-record.ts";
import { SANDBOX_TABLE } from "../../../durable-objects/sandbox/table.ts";
import type { StoredSandbox } from "../../../durable-objects/sandbox/record.ts";
import { app } from "../../../src/app.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost } from "../../support/worker/vm-host.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

/** A binding whose objects all fail, whatever they are asked. */
const broken = {
  getByName: () =>
    new Proxy({}, { get: () => () => Promise.reject(new Error("the object is broken")) }),
} as unknown;

const DB = { prepare: () => ({ bind: () => ({ run: fail, first: fail, all: fail }) }) };
function fail(): Promise<never> {
  return Promise.reject(new Error("D1 is down"));
}

async function ask(bindings: object, key: string, path: string, init: RequestInit = {}) {
  // Used once, so that the key is known here.
  await call("/sandboxes", { bearer: key });
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${key}`);
  return app.request(path, { ...init, headers }, { ...env, ...bindings });
}

const stored = (id: string) =>
  runInDurableObject(env.SANDBOXES.getByName(id), (_object, state) =>
    state.storage.kv.get<StoredSandbox>("sandbox"),
  );

/** The id of the org's sandbox that is being created. */
const startingOf = (key: string) =>
  vi.waitFor(async () => {
    const list = await call("/sandboxes?state=starting", { bearer: key });
    const { sandboxes } = await list.json<{ sandboxes: { sandboxId: string }[] }>();
    if (!sandboxes[0]) throw new Error("not yet");
    return sandboxes[0].sandboxId;
  }, 30_000);

describe("a part of the gateway that fails:", () => {
  test.each([
    ["POST", "/sandboxes", { SANDBOXES: broken }],
    ["GET", "/sandboxes", { ORGS: broken }],
    ["GET", "/sandboxes/:id", { SANDBOXES: broken }],
    ["DELETE", "/sandboxes/:id", { SANDBOXES: broken }],
    ["POST", "/sandboxes/:id/exec", { SANDBOXES: broken }],
    ["GET", "/sandboxes/:id/metrics", { SANDBOXES: broken }],
    ["POST", "/sandboxes/:id/timeout", { SANDBOXES: broken }],
  ])("%s %s is 503 and retryable", async (method, path, bindings) => {
    await newVmHost();
    const { key } = await newOrg();
    const { sandboxId } = await newSandbox(key);
    const init = method === "POST" ? json({ cmd: "true" }) : { method };
    const response = await ask(bindings, key, path.replace(":id", sandboxId), init);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "ObjectUnavailable", retryable: true });
  });

  test.each(["/sandboxes", "/desktops"])(
    "an org object that is wedged: POST %s is 503, and no host is asked",
    async (path) => {
      const host = await newVmHost({ capabilities: ["desktop"] });
      const { key, orgId } = await newOrg("professional");
      const object = env.ORGS.getByName(orgId);
      await runInDurableObject(object, (instance) => {
        Object.assign(instance, { reserveSandbox: () => Promise.reject(new Error("wedged")) });
      });
      const response = await call(path, { method: "POST", bearer: key });
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({
        code: "AdmissionUnavailable",
        retryable: true,
      });
      expect(await host.calls("PUT")).toEqual([]);
    },
  );

  test("an org object that dies before the create is confirmed: 503, and the machine is given back", async () => {
    const host = await newVmHost();
    const { key, orgId } = await newOrg();
    const object = env.ORGS.getByName(orgId);
    await runInDurableObject(object, (instance) => {
      Object.assign(instance, { noteSandbox: () => Promise.reject(new Error("wedged")) });
    });
    const response = await call("/sandboxes", { method: "POST", bearer: key });
    expect(response.status).toBe(503);
    await vi.waitFor(async () => expect(await host.held()).toEqual([]), 30_000);
    await evictDurableObject(object);
    await vi.waitFor(async () => {
      expect((await call("/sandboxes", { method: "POST", bearer: key })).status).toBe(201);
    }, 30_000);
  });

  test("D1: an org that does not pay in advance is served, one that does is 503", async () => {
    await newVmHost();
    const { key, orgId } = await newOrg("professional");
    expect((await ask({ DB }, key, "/sandboxes", json({}))).status).toBe(201);
    const patch = json({ creditCents: 100 }, "PATCH");
    await call(`/admin/orgs/${orgId}`, { ...patch, bearer: ADMIN_TOKEN });
    const response = await ask({ DB }, key, "/sandboxes", json({}));
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "AdmissionUnavailable", retryable: true });
  });
});

describe("a create whose object dies", () => {
  test("while its host makes the machine is undone by its own alarm, and the machine is nobody's", async () => {
    const host = await newVmHost();
    await host.steer({ put: "hang" });
    const { key } = await newOrg("free", { vms: 1 });
    const creating = call("/sandboxes", { method: "POST", bearer: key });
    const id = await startingOf(key);
    // Written once the host is at work on it.
    const sandbox = await vi.waitFor(async () => {
      const kept = await stored(id);
      if (kept?.state.status !== "starting") throw new Error("not yet");
      return { ...kept, state: kept.state };
    }, 30_000);
    const stub = env.SANDBOXES.getByName(id);
    await runInDurableObject(stub, (_object, state) => state.abort("test")).catch(() => undefined);
    expect((await creating).status).toBe(503);
    const state = { ...sandbox.state, giveUpAt: Date.now() - 1 };
    await runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) =>
      storage.kv.put("sandbox", { ...sandbox, state }),
    );
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(env.SANDBOXES.getByName(id));
      const list = await call("/sandboxes?state=starting", { bearer: key });
      expect(await list.json()).toEqual({ sandboxes: [] });
    }, 30_000);
    expect((await call(`/sandboxes/${id}`, { bearer: key })).status).toBe(404);
    await host.steer({});
    expect((await call("/sandboxes", { method: "POST", bearer: key })).status).toBe(201);
  });
});

test("a sandbox that is deleted while it is created holds nothing: no place, no machine", async () => {
  const host = await newVmHost();
  await host.steer({ put: "wait" });
  const { key } = await newOrg("free", { vms: 1 });
  const creating = call("/sandboxes", { method: "POST", bearer: key });
  const id = await startingOf(key);
  await vi.waitFor(async () => expect(await host.calls("PUT")).toHaveLength(1), 30_000);
  expect((await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key })).status).toBe(200);
  expect((await call(`/sandboxes/${id}`, { bearer: key })).status).toBe(200);
  // Its machine is made all the same, and given back.
  await host.steer({});
  const next = await newSandbox(key);
  expect((await creating).status).toBeGreaterThanOrEqual(502);
  await vi.waitFor(async () => expect(await host.held()).toEqual([next.sandboxId]), 30_000);
  const view = await call(`/sandboxes/${id}`, { bearer: key });
  expect(await view.json()).toMatchObject({ state: "gone", closeReason: "deleted" });
});

test("twenty equal Idempotency-Keys at once make one machine, and one answer to the byte", async () => {
  const host = await newVmHost();
  const { key } = await newOrg("professional");
  const headers = { "idempotency-key": "same" };
  const create = (body: object) => call("/sandboxes", { ...json(body), headers, bearer: key });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      create(n % 2 === 0 ? { cpu: 1, memMb: 512 } : { memMb: 512, cpu: 1 }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
  const bodies = await Promise.all(answers.map((answer) => answer.text()));
  expect(new Set(bodies).size).toBe(1);
  expect(await host.held()).toHaveLength(1);
  expect((await create({ cpu: 2 })).status).toBe(409);
  // A wrong body is 400 before its key is looked at.
  expect((await create({ cpu: 0 })).status).toBe(400);
});

test("a duty whose object dies before it is done is done by the alarm", async () => {
  await newVmHost();
  const { key, orgId } = await newOrg("free", { vms: 1 });
  const { sandboxId: id } = await newSandbox(key);
  const stub = env.SANDBOXES.getByName(id);
  // As a deletion leaves it when the object dies in the next instant: only the state was written.
  await runInDurableObject(stub, async (_object, { storage }) => {
    const sandbox = storage.kv.get<StoredSandbox>("sandbox");
    if (!sandbox) throw new Error("no sandbox");
    const now = Date.now();
    const [span] = sandbox.state.bill.spans;
    if (!span) throw new Error("no span");
    const bill = { count: 1, spans: [{ ...span, endedAt: now }] };
    const state = { status: "gone", reason: "deleted", endedAt: now, expiresAt: now, bill };
    const owed = ["index", "usage", "host"];
    storage.kv.put("sandbox", { ...sandbox, state, owed, retryAt: now + 60_000 });
    await storage.deleteAlarm();
  });
  await evictDurableObject(stub);
  expect((await call("/sandboxes", { method: "POST", bearer: key })).status).toBe(429);
  // The lost alarm is set again by any look at the sandbox.
  await call(`/sandboxes/${id}`, { bearer: key });
  await vi.waitFor(async () => expect(await runDurableObjectAlarm(stub)).toBe(true), 30_000);
  expect((await stored(id))?.owed).toEqual([]);
  expect((await stored(id))?.state.bill.spans).toEqual([]);
  expect((await call("/sandboxes", { method: "POST", bearer: key })).status).toBe(201);
  const sql = "SELECT ended_at FROM usage_segments WHERE org_id = ? AND ended_at IS NOT NULL";
  const { results } = await env.DB.prepare(sql).bind(orgId).all();
  expect(results).toHaveLength(1);
});

test("a record that has been gone for a day is forgotten; its id is 404 then, and DELETE still 200", async () => {
  await newVmHost();
  const { key } = await newOrg();
  const { sandboxId: id } = await newSandbox(key);
  const stub = env.SANDBOXES.getByName(id);
  await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key });
  await vi.waitFor(async () => expect((await stored(id))?.owed).toEqual([]), 30_000);
  await runInDurableObject(stub, (_object, { storage }) => {
    const sandbox = storage.kv.get<StoredSandbox>("sandbox");
    if (sandbox?.state.status !== "gone") throw new Error("not gone");
    const endedAt = Date.now() - 86_400_000;
    storage.kv.put("sandbox", { ...sandbox, state: { ...sandbox.state, endedAt } });
  });
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(stub);
    expect(await stored(id)).toBeUndefined();
  }, 30_000);
  expect((await call(`/sandboxes/${id}`, { bearer: key })).status).toBe(404);
  expect((await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key })).status).toBe(200);
});

test("what a sandbox owes has its alarm in the same turn as the change: nothing comes between the two", async () => {
  await newVmHost();
  const { key } = await newOrg("professional");
  const { sandboxId } = await newSandbox(key);
  const stub = env.SANDBOXES.getByName(sandboxId);
  const [alarm, owedAt, now] = await runInDurableObject(stub, async (_object, state) => {
    const at = Date.now();
    // As it is long after the create: the next thing is the end of the idle window.
    await state.storage.setAlarm(at + 3_600_000);
    const applied = new DutyRecord(state.storage, SANDBOX_TABLE).apply({ type: "delete" }, at);
    return [await state.storage.getAlarm(), applied?.after.retryAt, at];
  });
  expect(owedAt).toBeGreaterThan(now);
  expect(alarm).toBe(owedAt);
});
