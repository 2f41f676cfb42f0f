import { env } from "cloudflare:workers";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { expect, test, vi } from "vitest";
import type { StoredSandbox } from "../../../durable-objects/sandbox/record.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { callerOf, snapshotting } from "../../support/worker/snapshots.ts";
import { newSandbox } from "../../support/worker/vm-host.ts";

test("a snapshot of a running sandbox is its record, and nothing of where it lies", async () => {
  const { host, id, take, get } = await snapshotting();
  const response = await take({ name: " before ", metadata: { job: "a" } });
  expect(response.status).toBe(201);
  const record = SnapshotRecord.parse(await response.json());
  expect(record).toEqual({
    snapshotId: expect.stringMatching(/^snap_[0-9A-Za-z]{20}$/),
    name: "before",
    kind: "sandbox",
    state: "ready",
    sandboxId: id,
    parentSnapshotId: null,
    template: "base",
    cpu: 2,
    memMb: 2048,
    diskGb: 4,
    sizeBytes: 5000,
    platform: { arch: "x86_64", machine: "pc-q35-7.2" },
    durable: false,
    children: 0,
    metadata: { job: "a" },
    createdAt: expect.any(String),
  });
  expect((await host.steer()).snapshots).toEqual([record.snapshotId]);
  expect(await (await get(`/snapshots/${record.snapshotId}`)).json()).toEqual(record);
  expect(await (await get(`/sandboxes/${id}`)).json()).toMatchObject({ state: "running" });
});

test("a snapshot of a paused sandbox leaves it paused", async () => {
  const { id, post, take, get } = await snapshotting();
  await post(`/sandboxes/${id}/pause`);
  expect((await take()).status).toBe(201);
  expect(await (await get(`/sandboxes/${id}`)).json()).toMatchObject({ state: "paused" });
});

test.each([undefined, {}, { name: null, metadata: null }, { name: "  " }])(
  "a snapshot with a body of %j has a name and no labels",
  async (body) => {
    const { taken } = await snapshotting();
    expect(await taken(body)).toMatchObject({ name: "snapshot", metadata: {} });
  },
);

test.each([
  ["name", { name: "x".repeat(201) }],
  ["name", { name: 5 }],
  ["name", { name: ["a"] }],
  ["metadata", { metadata: "a" }],
  ["metadata", { metadata: [1] }],
  ["metadata.a", { metadata: { a: 1 } }],
  ["metadata.a", { metadata: { a: "x".repeat(1025) } }],
])(
  "a snapshot with a wrong %s is 400 and names it, before its Idempotency-Key is looked at",
  async (field, body) => {
    const { host, id, key } = await snapshotting();
    const headers = { "idempotency-key": "" };
    const init = { ...json(body), bearer: key, headers };
    const response = await call(`/sandboxes/${id}/snapshots`, init);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field });
    expect((await host.steer()).snapshots).toEqual([]);
  },
);

test.each(["{", "[]", "5", "null"])(
  "a snapshot with a body of %o is 400 InvalidJson",
  async (body) => {
    const { id, key } = await snapshotting();
    const path = `/sandboxes/${id}/snapshots`;
    const response = await call(path, { method: "POST", body, bearer: key });
    expect([response.status, await response.json()]).toMatchObject([400, { code: "InvalidJson" }]);
  },
);

test("a snapshot of a sandbox that is gone is 404, of a shared one 400, and no host is asked", async () => {
  const { host, id, key, remove, take } = await snapshotting();
  await remove(`/sandboxes/${id}`);
  expect((await take()).status).toBe(404);
  const { sandboxId } = await newSandbox(key, { isolation: "shared" });
  const shared = await callerOf(key, sandboxId).take();
  expect(shared.status).toBe(400);
  const told = { code: "ValidationError", field: "isolation" };
  expect(await shared.json()).toMatchObject(told);
  expect(await host.calls("POST", "snapshot")).toEqual([]);
});

test("a snapshot asked for again with its Idempotency-Key is the same; for another sandbox the key is used up", async () => {
  const { host, id, key } = await snapshotting();
  const other = await newSandbox(key);
  const headers = { "idempotency-key": "once" };
  const send = (of: string) =>
    call(`/sandboxes/${of}/snapshots`, { ...json({}), bearer: key, headers });
  const [first, again] = [await send(id), await send(id)];
  expect(await again.text()).toBe(await first.text());
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  const reused = await send(other.sandboxId);
  expect([reused.status, await reused.json()]).toMatchObject([
    409,
    { code: "IdempotencyKeyReused" },
  ]);
  expect(await host.calls("POST", "snapshot")).toHaveLength(1);
});

test.each([
  ["fault", 502, "HostRejected"],
  ["missing", 409, "NotRunning"],
  ["unable", 409, "HostCapabilityMissing"],
  ["lost", 502, "HostUnreachable"],
])(
  "a snapshot that fails because its host answers %s is %i: on record as failed",
  async (mode, status, code) => {
    const { host, id, take, list, fork, revert, get } = await snapshotting();
    await host.steer({ snapshot: mode });
    const response = await take();
    expect(response.status).toBe(status);
    const body = await response.json<{ code: string; retryable?: boolean }>();
    expect([body.code, body.retryable === true]).toEqual([code, code !== "NotRunning"]);
    const { snapshots } = await list();
    expect(snapshots).toMatchObject([{ state: "failed", sizeBytes: null, platform: null }]);
    const { snapshotId = "" } = snapshots[0] ?? {};
    for (const refused of [await fork(snapshotId), await revert(snapshotId)])
      expect([refused.status, await refused.json()]).toMatchObject([
        409,
        { code: "SnapshotNotRestorable" },
      ]);
    // The sandbox is as it was, and takes another one.
    await host.steer({});
    expect(await (await get(`/sandboxes/${id}`)).json()).toMatchObject({ state: "running" });
    expect((await take()).status).toBe(201);
  },
);

test("a snapshot that fails because its host is away is 502, and nothing is on record", async () => {
  const { host, id, take, list } = await snapshotting();
  const stub = env.SANDBOXES.getByName(id);
  const { bootId } = await host.steer();
  const source = { hostId: host.hostId, bootId };
  await stub.hostChanged(source, { type: "hostAway", seenAt: Date.now() });
  const response = await take();
  expect([response.status, await response.json()]).toMatchObject([
    502,
    { code: "HostUnreachable", retryable: true },
  ]);
  expect(await list()).toEqual({ snapshots: [] });
});

test("a snapshot that fails because the sandbox's object dies half way is marked failed by its alarm", async () => {
  const { host, id, take, list } = await snapshotting();
  await host.steer({ snapshot: "hang" });
  const taking = take();
  await vi.waitFor(async () => {
    expect((await list()).snapshots).toMatchObject([{ state: "creating" }]);
    expect(await host.calls("POST", "snapshot")).toHaveLength(1);
  }, 30_000);
  const [creating] = (await list()).snapshots;
  const stub = env.SANDBOXES.getByName(id);
  await runInDurableObject(stub, (_object, state) => state.abort("test")).catch(() => undefined);
  expect((await taking).status).toBe(503);
  const owed = () =>
    runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) =>
      storage.kv.get<StoredSandbox>("sandbox"),
    );
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(env.SANDBOXES.getByName(id));
    expect(await list()).toMatchObject({
      snapshots: [{ snapshotId: creating?.snapshotId, state: "failed" }],
    });
    expect(await owed()).toMatchObject({ taking: null, owed: [] });
  }, 30_000);
});

test("a snapshot that is being taken is no beginning of a fork, and is not deleted", async () => {
  const { host, take, list, fork, remove } = await snapshotting();
  await host.steer({ snapshot: "hang" });
  void take();
  const snapshotId = await vi.waitFor(async () => {
    const [one] = (await list()).snapshots;
    if (!one) throw new Error("not yet");
    return one.snapshotId;
  }, 30_000);
  for (const response of [await fork(snapshotId), await remove(`/snapshots/${snapshotId}`)])
    expect([response.status, await response.json()]).toMatchObject([
      409,
      { code: "SnapshotNotReady", retryable: true },
    ]);
});
