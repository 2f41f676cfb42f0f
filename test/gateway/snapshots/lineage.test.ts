import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { expect, test, vi } from "vitest";
import { hastily, json } from "../../support/worker/gateway.ts";
import { callerOf, snapshotting } from "../../support/worker/snapshots.ts";
import { vmOf } from "../../support/worker/vm-host.ts";

test("a snapshot's children are the live machines that descend from it; DELETE names them until they are gone", async () => {
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

test("a snapshot's child is dropped when its machine dies", async () => {
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
  "a snapshot has no child of a fork that failed because its host answers %s",
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

test("children of a snapshot in the middle that was deleted are still those of the first", async () => {
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
