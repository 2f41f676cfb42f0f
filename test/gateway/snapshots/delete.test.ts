import { env } from "cloudflare:workers";
import { createScheduledController } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import worker from "../../../src/index.ts";
import { snapshotting } from "../../support/worker/snapshots.ts";

const rows = async (id: string) => {
  const sql = "SELECT deleted_at, leave_at FROM snapshots WHERE id = ?";
  return (await env.DB.prepare(sql).bind(id).all<{ leave_at: number | null }>()).results;
};

test("a DELETE has the host let go of the snapshot, and forgets it then", async () => {
  const { host, taken, remove, list } = await snapshotting();
  const { snapshotId } = await taken();
  expect(await (await remove(`/snapshots/${snapshotId}`)).json()).toEqual({ ok: true });
  expect(await list()).toEqual({ snapshots: [] });
  await vi.waitFor(async () => expect((await host.steer()).snapshots).toEqual([]), 30_000);
  await vi.waitFor(async () => expect(await rows(snapshotId)).toEqual([]), 30_000);
});

test.each(["fault", "drop"])(
  "a DELETE of a snapshot is 200 where the host answers %s; the scheduled job tells the host again",
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

test("a snapshot that its host may have half of: the job has the host let go later, the record stays", async () => {
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

test("a fork that comes at once with the DELETE either lives from it or is 404", async () => {
  const { taken, fork, remove } = await snapshotting();
  const { snapshotId } = await taken();
  const [made, deleted] = await Promise.all([fork(snapshotId), remove(`/snapshots/${snapshotId}`)]);
  expect([
    [201, 409],
    [404, 200],
  ]).toContainEqual([made.status, deleted.status]);
});
