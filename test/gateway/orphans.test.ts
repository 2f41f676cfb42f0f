import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { RECORD_MANIFEST } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { fleet } from "../../durable-objects/fleet/registry.ts";
import { runScheduled } from "../../src/scheduled.ts";
import { sweepOrphans } from "../../src/orphans.ts";
import { storedSandbox } from "../support/worker/age.ts";
import { paused, running } from "../support/worker/asleep.ts";
import { call, newOrg } from "../support/worker/gateway.ts";
import { snapshotting } from "../support/worker/snapshots.ts";
import { newBuildHost, readyTemplate } from "../support/worker/templates.ts";
import { vmOf } from "../support/worker/vm-host.ts";

const { orphanKeptMs, orphanSweepMs } = LIMITS;

/** Every key that is there. */
async function keys(): Promise<string[]> {
  return (await env.OBJECTS.list()).objects.map(({ key }) => key);
}

/** Stores a record of some files, as a host does. */
async function store(org: string, id: string, of = "nobody"): Promise<string[]> {
  const prefix = `snapshots/${org}/${id}/`;
  const manifest = JSON.stringify({ version: 1, record: { id: of, recordId: id } });
  await env.OBJECTS.put(`${prefix}pages.zst`, "pages");
  await env.OBJECTS.put(`${prefix}layer-0.zst`, "layer");
  await env.OBJECTS.put(`${prefix}${RECORD_MANIFEST}`, manifest);
  return [`${prefix}layer-0.zst`, `${prefix}${RECORD_MANIFEST}`, `${prefix}pages.zst`];
}

/** Sweeps now, and again once what was found is due. Answers how many records went. */
async function sweepTwice(now = Date.now()): Promise<number> {
  const first = await sweepOrphans(env, now);
  return first + (await sweepOrphans(env, now + orphanKeptMs));
}

beforeEach(async () => {
  await env.OBJECTS.delete(await keys());
  await env.DB.batch([
    env.DB.prepare("DELETE FROM orphans"),
    env.DB.prepare("DELETE FROM orphan_sweep"),
  ]);
});

/** The record that a sandbox goes on from. */
const recordOf = async (id: string): Promise<string> => (await storedSandbox(id)).record?.id ?? "";

describe("records in the object store", () => {
  test("that nothing names go after a week, and nothing else does", async () => {
    const sleeper = await paused();
    const checked = await running();
    const told = vmOf(checked.id, { recordId: "rec_checkpoint", durable: true, checkpointAt: 1 });
    await checked.host.beat({ vms: [told] });
    const { orgId, taken } = await snapshotting();
    const { snapshotId } = await taken();
    await newBuildHost();
    const builder = await newOrg("professional");
    const { templateId } = await readyTemplate(builder.key);
    const kept = [
      ...(await store(sleeper.orgId, await recordOf(sleeper.id), sleeper.id)),
      ...(await store(checked.orgId, "rec_checkpoint", checked.id)),
      ...(await store(orgId, snapshotId)),
      ...(await store(builder.orgId, templateId)),
      // Not records of this kind, whoever put them there.
      ...(await store(orgId, "layer_1")),
      "snapshots/odd",
      "snapshots/rec_odd/manifest.json",
      "templates/key-digest/manifest.json",
      "recordings/org/id",
      `vol_${"0".repeat(32)}/manifest.json`,
    ];
    for (const key of kept) await env.OBJECTS.put(key, "a");
    await store(orgId, "rec_unnamed");
    await store(orgId, "snap_unnamed");
    await store(sleeper.orgId, "rec_of_before", sleeper.id);
    await store(builder.orgId, "tpl_unnamed");
    expect(await sweepTwice()).toBe(4);
    expect((await keys()).toSorted()).toEqual(kept.toSorted());
  });

  test("of a sandbox that was deleted while its host was away go, though that never comes back", async () => {
    const { host, id, orgId, key } = await paused();
    await store(orgId, await recordOf(id), id);
    await fleet(env).remove(host.hostId);
    await host.steer({ remove: "hang" });
    expect(await sweepTwice()).toBe(0);
    await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key });
    const now = Date.now() + orphanKeptMs + orphanSweepMs;
    expect(await sweepOrphans(env, now)).toBe(0);
    expect(await sweepOrphans(env, now + orphanKeptMs - 1)).toBe(0);
    expect(await keys()).toHaveLength(3);
    expect(await sweepOrphans(env, now + orphanKeptMs + orphanSweepMs)).toBe(1);
    expect(await keys()).toEqual([]);
  });

  test("of a deleted snapshot stay for as long as a host is to let go of it", async () => {
    const { host, orgId, taken, remove } = await snapshotting();
    const { snapshotId } = await taken();
    const stored = await store(orgId, snapshotId);
    await host.steer({ removeSnapshot: "drop" });
    await remove(`/snapshots/${snapshotId}`);
    expect(await sweepTwice()).toBe(0);
    expect(await keys()).toEqual(stored);
  });

  test("that are named again in between have their week anew", async () => {
    const { host, id, orgId } = await running();
    await store(orgId, "rec_between", id);
    const now = Date.now();
    expect(await sweepOrphans(env, now)).toBe(0);
    await host.beat({
      vms: [vmOf(id, { recordId: "rec_between", durable: true, checkpointAt: 1 })],
    });
    expect(await sweepOrphans(env, now + orphanSweepMs)).toBe(0);
    await host.beat({ vms: [vmOf(id, { recordId: "rec_later", durable: true, checkpointAt: 2 })] });
    expect(await sweepOrphans(env, now + orphanKeptMs)).toBe(0);
    expect(await sweepOrphans(env, now + 2 * orphanKeptMs)).toBe(1);
  });

  test("stay while the sandbox that they say they are of names them, though its org's list has lost it", async () => {
    const { id, orgId } = await paused();
    const stored = await store(orgId, await recordOf(id), id);
    await runInDurableObject(env.ORGS.getByName(orgId), (_object, { storage }) =>
      storage.sql.exec("DELETE FROM sandboxes").toArray(),
    );
    expect(await sweepTwice()).toBe(0);
    expect(await keys()).toEqual(stored);
  });

  test("that are no more than begun go too", async () => {
    await env.OBJECTS.put("snapshots/org_a/rec_half/pages.zst", "half");
    expect(await sweepTwice()).toBe(1);
    expect(await keys()).toEqual([]);
  });
});

describe("the sweep", () => {
  test("looks at a few at a time, at all of them in turn, and begins anew after a day", async () => {
    const ids = ["rec_a", "rec_b", "rec_c", "rec_d", "rec_e"];
    for (const id of ids) await store("org_a", id);
    const now = Date.now();
    // Three files each: of the fourth key on it cannot be told where its record ends.
    for (const _id of ids) await sweepOrphans(env, now, 4);
    const sql = "SELECT prefix FROM orphans ORDER BY prefix";
    const found = async () =>
      (await env.DB.prepare(sql).all<{ prefix: string }>()).results.map(({ prefix }) => prefix);
    expect(await found()).toEqual(ids.map((id) => `snapshots/org_a/${id}/`));
    await store("org_a", "rec_0");
    expect(await sweepOrphans(env, now + orphanSweepMs - 1, 4)).toBe(0);
    expect(await found()).toHaveLength(ids.length);
    await sweepOrphans(env, now + orphanSweepMs, 4);
    expect(await found()).toHaveLength(ids.length + 1);
  });

  test("passes a record of more files than it looks at", async () => {
    await store("org_a", "rec_a");
    await store("org_a", "rec_b");
    const now = Date.now();
    const round = async (at: number) => {
      // The last one sees that there are no more.
      let gone = 0;
      for (let run = 0; run < 3; run += 1) gone += await sweepOrphans(env, at, 2);
      return gone;
    };
    expect(await round(now)).toBe(0);
    expect(await round(now + orphanKeptMs)).toBe(2);
    expect(await keys()).toEqual([]);
  });

  test.each(["SANDBOXES", "ORGS", "TEMPLATES", "DB"] as const)(
    "deletes nothing while %s cannot be asked",
    async (name) => {
      const { id, orgId } = await paused();
      await store(orgId, await recordOf(id), id);
      await store(orgId, "tpl_unnamed");
      const now = Date.now();
      await sweepOrphans(env, now);
      await env.DB.prepare("UPDATE orphans SET found_at = 0").run();
      const fails = (): never => {
        throw new Error("it is away");
      };
      const broken = { ...env, [name]: { getByName: fails, prepare: fails, batch: fails } };
      await expect(sweepOrphans(broken, now + orphanKeptMs)).rejects.toThrow(/away|unavailable/);
      expect(await keys()).toHaveLength(6);
    },
  );

  test("is part of the scheduled job", async () => {
    await store("org_a", "rec_a");
    await runScheduled({} as ScheduledController, env);
    const { results } = await env.DB.prepare("SELECT prefix FROM orphans").all();
    expect(results).toEqual([{ prefix: "snapshots/org_a/rec_a/" }]);
  });
});
