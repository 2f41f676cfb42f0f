import { SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { ends } from "../../support/worker/asleep.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { callerOf, snapshotting } from "../../support/worker/snapshots.ts";
import { anotherVmHost, newSandbox } from "../../support/worker/vm-host.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

/** What a host's object takes for placed there. */
const placedOn = (hostId: string): Promise<string[]> =>
  runInDurableObject(env.HOSTS.getByName(hostId), (_object, { storage }) =>
    storage.sql
      .exec<{ id: string }>("SELECT id FROM placed")
      .toArray()
      .map((row) => row.id),
  );

async function ready(overrides: object = {}) {
  const all = await snapshotting({}, overrides);
  const { id, get, taken } = all;
  const { snapshotId } = await taken();
  const state = async () => SandboxRecord.parse(await (await get(`/sandboxes/${id}`)).json()).state;
  return { ...all, snapshotId, state };
}

describe("POST /sandboxes/:id/revert", () => {
  test("of a running one goes on from there; what it keeps after that came from there", async () => {
    const { host, id, revert, snapshotId, taken, childrenOf } = await ready();
    const response = await revert(snapshotId);
    expect(response.status).toBe(200);
    const controlUrl = `ws://svc.test/control/${id}`;
    expect(await response.json()).toEqual({ state: "running", controlUrl });
    const [{ body } = { body: null }] = await host.calls("POST", "revert");
    expect(body).toEqual({ snapshotId });
    expect((await taken()).parentSnapshotId).toBe(snapshotId);
    // It is the same machine: no child of its own past.
    expect(await childrenOf(snapshotId)).toBe(0);
    expect((await host.beat()).end).toEqual([]);
  });

  test("is not lost by a heartbeat in the midst of it; by one after it it is", async () => {
    const { host, id, revert, snapshotId, state } = await ready();
    await vi.waitFor(async () => {
      await host.beat();
      expect(await placedOn(host.hostId)).toContain(id);
    }, 30_000);
    await host.steer({ revert: "slow" });
    const reverting = revert(snapshotId);
    await vi.waitFor(async () => {
      expect(await host.calls("POST", "revert")).toHaveLength(1);
    }, 30_000);
    await host.beat({ vms: [] });
    await host.steer({});
    expect((await reverting).status).toBe(200);
    expect(await state()).toBe("running");
    await vi.waitFor(async () => {
      await host.beat();
      expect(await placedOn(host.hostId)).toContain(id);
    }, 30_000);
    expect(await state()).toBe("running");
    await host.beat({ vms: [] });
    expect(await state()).toBe("gone");
  });

  test("of a paused one runs, takes its place and is billed again", async () => {
    const { host, orgId, id, post, revert, snapshotId, state } = await ready();
    await post(`/sandboxes/${id}/pause`);
    expect((await revert(snapshotId)).status).toBe(200);
    expect(await state()).toBe("running");
    expect(await host.states()).toEqual({ [id]: "running" });
    await vi.waitFor(async () => expect(await ends(orgId)).toContain(true), 30_000);
  });

  test("of a paused one is 429 at the cap, 402 without credit, and stays paused", async () => {
    const { orgId, id, key, post, revert, snapshotId, state } = await ready({ vms: 1 });
    await post(`/sandboxes/${id}/pause`);
    const other = await newSandbox(key);
    const full = await revert(snapshotId);
    expect([full.status, await full.json()]).toMatchObject([
      429,
      { code: "ConcurrencyLimitExceeded", holders: [other.sandboxId] },
    ]);
    expect(await state()).toBe("paused");
    const patch = json({ creditCents: 0 }, "PATCH");
    await call(`/admin/orgs/${orgId}`, { ...patch, bearer: ADMIN_TOKEN });
    const broke = await revert(snapshotId);
    expect([broke.status, await broke.json()]).toMatchObject([402, { code: "InsufficientCredit" }]);
  });

  test("to a snapshot of another machine is 400, also of the one it was forked from", async () => {
    const { key, fork, snapshotId, host } = await ready();
    const made = await (await fork(snapshotId)).json<{ sandboxId: string }>();
    const response = await callerOf(key, made.sandboxId).revert(snapshotId);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: "ValidationError", field: "snapshotId" },
    ]);
    expect(await host.calls("POST", "revert")).toEqual([]);
  });

  test.each([undefined, null, 5, "", [], {}, "x".repeat(201)])(
    "a snapshotId of %j is 400 and named",
    async (value) => {
      const { revert } = await ready();
      const response = await revert(value);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ field: "snapshotId" });
    },
  );

  test("of one that is gone is 404", async () => {
    const { id, remove, revert, snapshotId } = await ready();
    await remove(`/sandboxes/${id}`);
    const response = await revert(snapshotId);
    expect([response.status, await response.text()]).toEqual([
      404,
      '{"error":"There is no such sandbox.","code":"NotFound"}',
    ]);
  });

  test.each([
    ["foreign", 409, "SnapshotNotRestorable"],
    ["fault", 502, "HostRejected"],
    ["full", 503, "NoCapacity"],
    ["lost", 502, "HostUnreachable"],
  ])("where the host answers %s is %i, and it runs on", async (mode, status, code) => {
    const { host, revert, snapshotId, state } = await ready();
    await host.steer({ revert: mode });
    const response = await revert(snapshotId);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code });
    expect(await state()).toBe("running");
  });
});

describe("a machine that has moved to another host", () => {
  test("reverts to a snapshot that stayed once that is in the object store, and not before", async () => {
    const { host, id, taken, post, revert } = await snapshotting();
    const { snapshotId } = await taken();
    await host.steer({ store: "yes" });
    await post(`/sandboxes/${id}/pause`);
    const capabilities = ["snapshots"];
    const other = await anotherVmHost({ capabilities });
    await host.steer({ resume: "full" });
    expect((await post(`/sandboxes/${id}/resume`)).status).toBe(200);
    const early = await revert(snapshotId);
    expect([early.status, await early.json()]).toMatchObject([503, { code: "NoCapacity" }]);
    expect(await other.calls("POST", "revert")).toEqual([]);
    await host.beat({ capabilities, durableSnapshots: [snapshotId] });
    await revert(snapshotId);
    const [{ body } = { body: null }] = await other.calls("POST", "revert");
    expect(body).toEqual({ snapshotId });
  });
});
