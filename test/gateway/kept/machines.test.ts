import { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { describe, expect, test, vi } from "vitest";
import { call, unhurried } from "../../support/worker/gateway.ts";
import { capFull, keeper, statuses, told } from "../../support/worker/kept.ts";

describe("machines that an org keeps", () => {
  test("are as many as its plan allows; a create of any sort beyond is 403 and asks no host", async () => {
    const { host, create, created, paused, post } = await keeper({ pausedVms: 2 });
    const id = await created();
    const { snapshotId } = SnapshotRecord.parse(
      await (await post(`/sandboxes/${id}/snapshots`)).json(),
    );
    await paused();
    const placed = await host.calls("PUT");
    const refusal = { error: expect.any(String), ...capFull("pausedVm", 2) };
    expect(await told(await create())).toEqual([403, refusal]);
    expect(await told(await create({ fromSnapshot: snapshotId }))).toEqual([403, refusal]);
    expect(await told(await create({ kind: "desktop" }))).toEqual([403, refusal]);
    expect(await told(await post("/desktops"))).toEqual([403, refusal]);
    expect(await host.calls("PUT")).toHaveLength(placed.length);
  });

  test("are never more, of however many that are created at once", async () => {
    unhurried();
    const { create } = await keeper({ pausedVms: 3 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => create()));
    expect(statuses(answers)).toEqual([201, 201, 201, 403, 403, 403, 403, 403]);
  });

  test("are counted while they run, so that no pause is refused", async () => {
    const { create, created, pause, kept } = await keeper({ pausedVms: 3 });
    const ids = [await created(), await created(), await created()];
    expect((await create()).status).toBe(403);
    expect(statuses(await Promise.all(ids.map(pause)))).toEqual([200, 200, 200]);
    expect((await create()).status).toBe(403);
    expect((await kept()).machines).toEqual({ used: 3, cap: 3 });
  });

  test("make room as soon as one is deleted, running or paused", async () => {
    const { create, created, paused, remove } = await keeper({ pausedVms: 2 });
    const ids = [await created(), await paused()];
    for (const id of ids) {
      expect((await create()).status).toBe(403);
      await remove(`/sandboxes/${id}`);
      expect((await create()).status).toBe(201);
    }
  });

  test("make room when their host has lost them", async () => {
    const { host, create, paused, capabilities, kept } = await keeper({ pausedVms: 1 });
    await paused();
    expect((await create()).status).toBe(403);
    await host.beat({ bootId: "another-start", seq: 1, vms: [], capabilities });
    await vi.waitFor(async () => expect((await kept()).machines.used).toBe(0), 30_000);
    expect((await create()).status).toBe(201);
  });

  test("leave room when their create fails", async () => {
    const { host, create } = await keeper({ pausedVms: 1 });
    await host.steer({ put: "fault" });
    expect((await create()).status).toBe(502);
    await host.steer({});
    await vi.waitFor(async () => expect((await create()).status).toBe(201), 30_000);
  });

  test("of other orgs do not count", async () => {
    const { created, create } = await keeper({ pausedVms: 1 });
    await created();
    expect((await create()).status).toBe(403);
    expect((await (await keeper({ pausedVms: 1 })).create()).status).toBe(201);
  });
});

describe("a resume", () => {
  test("at the cap passes: the machine is counted already", async () => {
    const { paused, resume } = await keeper({ pausedVms: 2 });
    const ids = [await paused(), await paused()];
    expect((await resume(ids[0] ?? "")).status).toBe(200);
  });

  test("is 403 while the org keeps more others than its cap, and leaves the machine paused", async () => {
    const { host, key, paused, post, resume, remove, override } = await keeper({});
    const [id, other] = [await paused({ lifecycle: { autoResume: true } }), await paused()];
    await override({ pausedVms: 1 });
    expect(await told(await resume(id))).toMatchObject([403, capFull("pausedVm", 1)]);
    const woken = await post(`/sandboxes/${id}/exec`, { cmd: "true" });
    expect(await told(woken)).toMatchObject([403, capFull("pausedVm", 1)]);
    expect(await host.calls("POST", "resume")).toEqual([]);
    const list = await call("/sandboxes?state=paused", { bearer: key });
    expect((await list.json<{ sandboxes: unknown[] }>()).sandboxes).toHaveLength(2);
    await remove(`/sandboxes/${other}`);
    expect((await resume(id)).status).toBe(200);
  });

  test("by a revert is refused in the same way", async () => {
    const { created, paused, post, pause, override } = await keeper({});
    const id = await created();
    const snapshot = await post(`/sandboxes/${id}/snapshots`);
    const { snapshotId } = SnapshotRecord.parse(await snapshot.json());
    await pause(id);
    await paused();
    await override({ pausedVms: 1 });
    const reverted = await post(`/sandboxes/${id}/revert`, { snapshotId });
    expect(await told(reverted)).toMatchObject([403, capFull("pausedVm", 1)]);
  });
});

describe("the cap of machines that are kept", () => {
  test("may be 0 for an org, and may be lifted", async () => {
    const { create, kept, override } = await keeper({ pausedVms: 0 });
    expect(await told(await create())).toMatchObject([403, capFull("pausedVm", 0)]);
    await override({ pausedVms: null });
    expect((await create()).status).toBe(201);
    expect((await kept()).machines).toEqual({ used: 1, cap: null });
  });

  test("is told before the cap of machines at once, and after what the request names", async () => {
    const { created, create } = await keeper({ pausedVms: 1, vms: 1 });
    await created();
    expect((await create()).status).toBe(403);
    expect((await create({ fromSnapshot: "snap_no" })).status).toBe(404);
    expect((await create({ cpu: 99 })).status).toBe(400);
  });

  test("is not judged again for a repeat of an Idempotency-Key", async () => {
    const { post, create } = await keeper({ pausedVms: 1 });
    const send = () => post("/sandboxes", {}, { "idempotency-key": "a" });
    const first = await (await send()).text();
    expect((await create()).status).toBe(403);
    const again = await send();
    expect([again.status, await again.text()]).toEqual([201, first]);
  });
});
