import { env } from "cloudflare:workers";
import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, test } from "vitest";
import { newOrg } from "../../support/worker/gateway.ts";
import { callerOf, snapshotting } from "../../support/worker/snapshots.ts";
import { newSandbox, newVmHost } from "../../support/worker/vm-host.ts";

test("a snapshot of another org is the same 404 as a snapshot that never was", async () => {
  const { taken } = await snapshotting();
  const { snapshotId } = await taken();
  const { key } = await newOrg("professional");
  const host = await newVmHost({ capabilities: ["snapshots"] });
  const { sandboxId } = await newSandbox(key);
  const other = callerOf(key, sandboxId);
  const texts: string[] = [];
  for (const id of [snapshotId, "snap_never", "%00", "x".repeat(300)]) {
    const answers = [
      await other.get(`/snapshots/${id}`),
      await other.remove(`/snapshots/${id}`),
      ...(id.length < 200 ? [await other.revert(id), await other.fork(id)] : []),
    ];
    for (const answer of answers) {
      expect([id, answer.status]).toEqual([id, 404]);
      texts.push(await answer.text());
    }
  }
  expect([...new Set(texts)]).toEqual(['{"error":"There is no such snapshot.","code":"NotFound"}']);
  expect((await host.calls("POST", "revert")).length).toBe(0);
});

test("a snapshot that a heartbeat calls stored is durable", async () => {
  const { host, taken, get } = await snapshotting();
  const { snapshotId } = await taken();
  await host.beat({ durableSnapshots: [snapshotId, "snap_unknown"] });
  expect(await (await get(`/snapshots/${snapshotId}`)).json()).toMatchObject({ durable: true });
  expect(await runDurableObjectAlarm(env.HOSTS.getByName(host.hostId))).toBe(true);
});
