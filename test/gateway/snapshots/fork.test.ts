import { env } from "cloudflare:workers";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { FAKE_HOST_PLATFORM } from "../../support/fakes/platform.ts";
import { snapshotting } from "../../support/worker/snapshots.ts";
import { anotherVmHost } from "../../support/worker/vm-host.ts";

const capabilities = ["snapshots"];
const foreign = { ...FAKE_HOST_PLATFORM, qemu: "9.0.0" };

describe("POST /sandboxes with fromSnapshot", () => {
  test("has the snapshot's sizes and template, whatever is asked, and its host is told", async () => {
    const { host, taken, fork, get } = await snapshotting();
    const { snapshotId } = await taken();
    const wish = { template: "nonsense", cpu: 8, memMb: 4096, diskGb: 20, metadata: { a: "b" } };
    const response = await fork(snapshotId, { ...wish, envs: { A: "1" } });
    expect(response.status).toBe(201);
    const made = SandboxCreated.parse(await response.json());
    expect(made).toMatchObject({ kind: "sandbox", cpu: 2, memMb: 2048, diskGb: 4 });
    const record = await (await get(`/sandboxes/${made.sandboxId}`)).json();
    expect(record).toMatchObject({ template: "base", metadata: { a: "b" }, cpu: 2 });
    const [, { body } = { body: null }] = await host.calls("PUT");
    expect(body).toMatchObject({
      source: { type: "snapshot", id: snapshotId },
      cpu: 2,
      memMb: 2048,
      diskGb: 4,
      envs: { A: "1" },
    });
  });

  test("of a desktop has the screen of its origin, whatever is asked, as its host says", async () => {
    const { host, taken, fork, get } = await snapshotting({ kind: "desktop" });
    const { snapshotId } = await taken();
    const response = await fork(snapshotId, { kind: "desktop", resolution: "800x600" });
    const { sandboxId } = SandboxCreated.parse(await response.json());
    const [, placed] = await host.calls("PUT");
    expect(placed?.body).not.toHaveProperty("resolution");
    const record = await (await get(`/sandboxes/${sandboxId}`)).json();
    expect(record).toMatchObject({ kind: "desktop", resolution: "1024x768" });
  });

  test("of another kind is 400, on shared isolation too; recorded it is refused", async () => {
    const { taken, fork } = await snapshotting();
    const { snapshotId } = await taken();
    const answers = await Promise.all([
      fork(snapshotId, { kind: "desktop" }),
      fork(snapshotId, { isolation: "shared" }),
      fork(snapshotId, { kind: "desktop", record: true }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(await Promise.all(answers.map((answer) => answer.json()))).toMatchObject([
      { code: "ValidationError", field: "fromSnapshot" },
      { code: "ValidationError", field: "isolation" },
      { code: "RecordingRequiresGoldenBoot" },
    ]);
  });

  test("goes to the host that holds it, though another one is emptier", async () => {
    const { host, taken, fork } = await snapshotting();
    const { snapshotId } = await taken();
    const free = { cpu: 64, memMb: 1_000_000, diskGb: 1000, slots: 99 };
    const other = await anotherVmHost({ capabilities, free });
    expect((await fork(snapshotId)).status).toBe(201);
    expect(await other.calls("PUT")).toEqual([]);
    expect(await host.held()).toHaveLength(2);
  });

  test("whose host has no room goes nowhere else while it is not durable, then elsewhere", async () => {
    const { host, taken, fork } = await snapshotting();
    await host.steer({ store: "yes" });
    const durable = await taken();
    expect(durable.durable).toBe(true);
    await host.steer({});
    const { snapshotId } = await taken();
    const other = await anotherVmHost({ capabilities });
    await host.steer({ put: "full" });
    const response = await fork(snapshotId);
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { code: "NoCapacity", retryable: true },
    ]);
    expect(await other.calls("PUT")).toEqual([]);
    expect((await fork(durable.snapshotId)).status).toBe(201);
    expect(await other.held()).toHaveLength(1);
  });

  test("whose host is away is 503 and retryable", async () => {
    const { host, taken, fork } = await snapshotting();
    const { snapshotId } = await taken();
    await anotherVmHost({ capabilities });
    await fleet(env).remove(host.hostId);
    const response = await fork(snapshotId);
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { code: "NoCapacity", hint: "The host that holds it cannot be reached." },
    ]);
  });

  test("of a platform that the fleet has not is 409 before any host is asked, also before 429", async () => {
    const { host, taken, fork, revert } = await snapshotting({}, { vms: 1 });
    const { snapshotId } = await taken();
    await host.beat({ capabilities, platform: foreign });
    for (const response of [await fork(snapshotId), await revert(snapshotId)]) {
      expect(response.status).toBe(409);
      expect(await response.json()).toMatchObject({
        code: "SnapshotNotRestorable",
        retryable: false,
      });
    }
    expect(await host.calls("PUT")).toHaveLength(1);
    expect(await host.calls("POST", "revert")).toEqual([]);
  });

  test("of a platform that another host still has goes there when it is durable", async () => {
    const { host, taken, fork } = await snapshotting();
    await host.steer({ store: "yes" });
    const { snapshotId } = await taken();
    await host.beat({ capabilities, platform: foreign });
    const other = await anotherVmHost({ capabilities });
    expect((await fork(snapshotId)).status).toBe(201);
    expect(await other.held()).toHaveLength(1);
  });

  test("that its host does not know any more is 409", async () => {
    const { host, taken, fork } = await snapshotting();
    const { snapshotId } = await taken();
    // As after a loss of the host's disk.
    const { snapshotId: other } = await taken();
    await env.DB.prepare("UPDATE snapshots SET id = 'snap_lost' WHERE id = ?").bind(other).run();
    const response = await fork("snap_lost");
    expect([response.status, await response.json()]).toMatchObject([
      409,
      { code: "SnapshotNotRestorable" },
    ]);
    expect((await fork(snapshotId)).status).toBe(201);
    expect(await host.held()).toHaveLength(2);
  });

  test("at the cap is 429, and no child", async () => {
    const { taken, fork, childrenOf } = await snapshotting({}, { vms: 1 });
    const { snapshotId } = await taken();
    const response = await fork(snapshotId);
    expect([response.status, await response.json()]).toMatchObject([
      429,
      { code: "ConcurrencyLimitExceeded" },
    ]);
    expect(await childrenOf(snapshotId)).toBe(0);
  });
});
