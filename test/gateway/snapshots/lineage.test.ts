import { env } from "cloudflare:workers";
import { createScheduledController, runDurableObjectAlarm } from "cloudflare:test";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test, vi } from "vitest";
import worker from "../../../src/index.ts";
import { hastily, json } from "../../support/worker/gateway.ts";
import { callerOf, snapshotting } from "../../support/worker/snapshots.ts";
import { vmOf } from "../../support/worker/vm-host.ts";

const rows = async (id: string) => {
  const sql = "SELECT deleted_at, leave_at FROM snapshots WHERE id = ?";
  return (await env.DB.prepare(sql).bind(id).all<{ leave_at: number | null }>()).results;
};

describe("children", () => {
  test("are the live machines that descend from it; DELETE names them until they are gone", async () => {
    const { key, taken, fork, remove, childrenOf, post } = await snapshotting();
    const { snapshotId } = await taken();
    const path = `/snapshots/${snapshotId}`;
    const child = SandboxCreated.parse(await (await fork(snapshotId)).json()).sandboxId;
    expect(await childrenOf(snapshotId)).toBe(1);
    // A child of a child is a descendant too, and one that is paused lives.
    const second = await callerOf(key, child).taken();
    expect(second.parentSnapshotId).toBe(snapshotId);
    const grandchild = SandboxCreated.parse(await (await fork(second.snapshotId)).json()).sandboxId;
    await post(`/sandboxes/${grandchild}/pause`);
    expect(await childrenOf(snapshotId)).toBe(2);
    expect(await childrenOf(second.snapshotId)).toBe(1);
    const refused = await remove(path);
    expect(refused.status).toBe(409);
    const body = await refused.json<{ holders: string[] }>();
    expect(body).toMatchObject({ code: "SnapshotHasChildren", children: 2 });
    expect(new Set(body.holders)).toEqual(new Set([child, grandchild]));
    await remove(`/sandboxes/${child}`);
    expect(await childrenOf(snapshotId)).toBe(1);
    expect((await remove(path)).status).toBe(409);
    await remove(`/sandboxes/${grandchild}`);
    expect(await (await remove(path)).json()).toEqual({ ok: true });
    expect((await remove(path)).status).toBe(404);
  });

  test("are dropped when a machine dies", async () => {
    const { host, taken, fork, childrenOf } = await snapshotting();
    const { snapshotId } = await taken();
    const child = SandboxCreated.parse(await (await fork(snapshotId)).json()).sandboxId;
    expect(await childrenOf(snapshotId)).toBe(1);
    const { vms } = await host.heartbeat();
    const told = vms.map((vm) => (vm.id === child ? vmOf(child, { ended: "machine_died" }) : vm));
    await host.beat({ vms: told });
    await vi.waitFor(async () => expect(await childrenOf(snapshotId)).toBe(0), 30_000);
  });

  test.each(["full", "small", "fault", "drop", "hang"])(
    "are none of a fork that failed because its host answers %s",
    async (mode) => {
      const { host, key, taken, remove, childrenOf } = await snapshotting();
      const { snapshotId: fromSnapshot } = await taken();
      await host.steer({ put: mode });
      const fork = await hastily("/sandboxes", { ...json({ fromSnapshot }), bearer: key });
      expect(fork.status).toBeGreaterThanOrEqual(500);
      await vi.waitFor(async () => expect(await childrenOf(fromSnapshot)).toBe(0), 30_000);
      expect((await remove(`/snapshots/${fromSnapshot}`)).status).toBe(200);
    },
  );

  test("of one in the middle that was deleted are still those of the first", async () => {
    const { key, taken, fork, remove, childrenOf } = await snapshotting();
    const first = await taken();
    const a = SandboxCreated.parse(await (await fork(first.snapshotId)).json()).sandboxId;
    const second = await callerOf(key, a).taken();
    const b = SandboxCreated.parse(await (await fork(second.snapshotId)).json()).sandboxId;
    const third = await callerOf(key, b).taken();
    await remove(`/sandboxes/${a}`);
    await remove(`/sandboxes/${b}`);
    expect((await remove(`/snapshots/${second.snapshotId}`)).status).toBe(200);
    expect((await fork(third.snapshotId)).status).toBe(201);
    expect(await childrenOf(first.snapshotId)).toBe(1);
  });

  test("a fork that comes at once with the DELETE either lives from it or is 404", async () => {
    const { taken, fork, remove } = await snapshotting();
    const { snapshotId } = await taken();
    const [made, deleted] = await Promise.all([
      fork(snapshotId),
      remove(`/snapshots/${snapshotId}`),
    ]);
    expect([
      [201, 409],
      [404, 200],
    ]).toContainEqual([made.status, deleted.status]);
  });
});

describe("DELETE /snapshots/:id", () => {
  test("has the host let go of it, and forgets it then", async () => {
    const { host, taken, remove, list } = await snapshotting();
    const { snapshotId } = await taken();
    expect(await (await remove(`/snapshots/${snapshotId}`)).json()).toEqual({ ok: true });
    expect(await list()).toEqual({ snapshots: [] });
    await vi.waitFor(async () => expect((await host.steer()).snapshots).toEqual([]), 30_000);
    await vi.waitFor(async () => expect(await rows(snapshotId)).toEqual([]), 30_000);
  });

  test.each(["fault", "drop"])(
    "is 200 where the host answers %s; the scheduled job tells it again",
    async (mode) => {
      const { host, taken, remove } = await snapshotting();
      const { snapshotId } = await taken();
      await host.steer({ removeSnapshot: mode });
      expect((await remove(`/snapshots/${snapshotId}`)).status).toBe(200);
      expect(await rows(snapshotId)).toHaveLength(1);
      await host.steer({});
      await worker.scheduled(createScheduledController(), env);
      expect((await host.steer()).snapshots).toEqual([]);
      expect(await rows(snapshotId)).toEqual([]);
    },
  );

  test("of what its host may have half of: the job has it let go later, the record stays", async () => {
    const { host, take, list } = await snapshotting();
    await host.steer({ snapshot: "lost" });
    await take();
    const [{ snapshotId } = { snapshotId: "" }] = (await list()).snapshots;
    expect((await host.steer({})).snapshots).toEqual([snapshotId]);
    const sql = "UPDATE snapshots SET leave_at = ? WHERE id = ? AND leave_at IS NOT NULL";
    const { meta } = await env.DB.prepare(sql)
      .bind(Date.now() - 1, snapshotId)
      .run();
    expect(meta.changes).toBe(1);
    await worker.scheduled(createScheduledController(), env);
    expect((await host.steer()).snapshots).toEqual([]);
    expect(await rows(snapshotId)).toMatchObject([{ leave_at: null }]);
    expect((await list()).snapshots).toMatchObject([{ snapshotId, state: "failed" }]);
  });

  test("what a heartbeat calls stored is durable", async () => {
    const { host, taken, get } = await snapshotting();
    const { snapshotId } = await taken();
    await host.beat({ durableSnapshots: [snapshotId, "snap_unknown"] });
    expect(await (await get(`/snapshots/${snapshotId}`)).json()).toMatchObject({ durable: true });
    expect(await runDurableObjectAlarm(env.HOSTS.getByName(host.hostId))).toBe(true);
  });
});
