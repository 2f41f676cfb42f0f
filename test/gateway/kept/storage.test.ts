import { env } from "cloudflare:workers";
import type { VolumeManifest } from "@svc/contract/host-protocol/volumes.ts";
import { GIB_BYTES } from "@svc/contract/plans.ts";
import { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { describe, expect, test, vi } from "vitest";
import { app } from "../../../src/app.ts";
import { capFull, keeper, told } from "../../support/worker/kept.ts";
import { put, urls } from "../../support/worker/objects.ts";
import { vmOf } from "../../support/worker/vm-host.ts";
import { newVolume } from "../../support/worker/volumes.ts";

const FULL = capFull("storage", 2);
const MIB = 1024 ** 2;

/** Stores a manifest of a volume with so many chunks, as its host does. */
async function storeManifest(volume: string, chunks: number): Promise<void> {
  const numbers = Array.from({ length: chunks }, (_, at) => [String(at), "0".repeat(64)] as const);
  const manifest: VolumeManifest = {
    version: 1,
    epoch: 1,
    hostId: "vm-1",
    copy: "a",
    isOpen: true,
    sizeBytes: 16 * GIB_BYTES,
    chunkBytes: MIB,
    chunks: Object.fromEntries(numbers),
    storedAt: 1,
  };
  const text = JSON.stringify(manifest);
  const object = { purpose: "volume", volume, file: "manifest.json" } as const;
  const stored = await put((await urls({ object, sizeBytes: text.length })).put, text);
  expect(stored.status).toBe(200);
}

describe("what an org stores", () => {
  test("is never refused to a paused machine; then creates, forks, snapshots and volumes are 403", async () => {
    const { host, created, pause, create, post, remove, kept } = await keeper({ storedGib: 2 });
    const [id, other] = [await created(), await created()];
    const taken = await post(`/sandboxes/${other}/snapshots`);
    const { snapshotId } = SnapshotRecord.parse(await taken.json());
    await host.steer({ recordBytes: 3 * GIB_BYTES });
    expect((await pause(id)).status).toBe(200);
    const placed = await host.calls("PUT");
    const refusal = { error: expect.any(String), ...FULL };
    expect(await told(await create())).toEqual([403, refusal]);
    expect(await told(await create({ fromSnapshot: snapshotId }))).toEqual([403, refusal]);
    expect(await told(await post("/volumes"))).toEqual([403, refusal]);
    expect(await told(await post(`/sandboxes/${other}/snapshots`))).toEqual([403, refusal]);
    expect(await host.calls("PUT")).toHaveLength(placed.length);
    expect(await host.calls("POST", "snapshot")).toHaveLength(1);
    expect((await kept()).gib).toMatchObject({ cap: 2, machines: 3, volumes: 0 });
    await remove(`/sandboxes/${id}`);
    expect((await create()).status).toBe(201);
    expect((await post("/volumes")).status).toBe(201);
  });

  test("by snapshots counts until they are deleted, whether their host has removed them or not", async () => {
    const { host, created, create, post, remove, kept } = await keeper({ storedGib: 2 });
    const id = await created();
    await host.steer({ snapshotBytes: GIB_BYTES, removeSnapshot: "fault" });
    const take = () => post(`/sandboxes/${id}/snapshots`);
    await take();
    const { snapshotId } = SnapshotRecord.parse(await (await take()).json());
    expect(await told(await take())).toMatchObject([403, FULL]);
    expect(await told(await create())).toMatchObject([403, FULL]);
    expect((await kept()).gib).toEqual({ used: 2, cap: 2, machines: 0, snapshots: 2, volumes: 0 });
    await remove(`/snapshots/${snapshotId}`);
    expect((await create()).status).toBe(201);
    await host.steer({ snapshot: "fault" });
    expect((await take()).status).toBe(502);
    expect((await kept()).gib.snapshots).toBe(1);
  });

  test("by volumes is what their newest manifest names", async () => {
    const { key, create, post, remove, kept } = await keeper({ storedGib: 2 });
    const { volumeId } = await newVolume(key, { sizeMb: 500_000 });
    await storeManifest(volumeId, 1024);
    expect((await kept()).gib).toEqual({ used: 1, cap: 2, machines: 0, snapshots: 0, volumes: 1 });
    await storeManifest(volumeId, 2048);
    expect(await told(await create())).toMatchObject([403, FULL]);
    expect(await told(await post("/volumes"))).toMatchObject([403, FULL]);
    await remove(`/volumes/${volumeId}`);
    expect((await create()).status).toBe(201);
  });

  test("stands against a resume, all but the machine's own record", async () => {
    const { host, paused, resume, remove, kept } = await keeper({ storedGib: 2 });
    await host.steer({ recordBytes: 1.5 * GIB_BYTES });
    const small = await paused();
    await host.steer({ recordBytes: 3 * GIB_BYTES });
    // A create is judged by what is stored: its own record may pass the cap.
    const large = await paused();
    expect(await told(await resume(small))).toMatchObject([403, FULL]);
    expect((await resume(large)).status).toBe(200);
    // A record that went on is spent.
    expect((await kept()).gib.machines).toBe(1.5);
    await remove(`/sandboxes/${large}`);
    expect((await resume(small)).status).toBe(200);
  });

  test("by a checkpoint, and by a pause whose answer was lost, is learnt from the host's reports", async () => {
    const { host, created, pause, capabilities, kept } = await keeper({ storedGib: 2 });
    const [id, other] = [await created(), await created()];
    const record = { recordId: "rec_1", durable: false, sizeBytes: GIB_BYTES };
    await host.beat({ vms: [vmOf(id, record), vmOf(other)], capabilities });
    await vi.waitFor(async () => expect((await kept()).gib.machines).toBe(1), 30_000);
    await host.steer({ pause: "lost" });
    expect((await pause(other)).status).toBe(502);
    const lost = { state: "paused", recordId: "rec_2", sizeBytes: 2 * GIB_BYTES } as const;
    await host.beat({ vms: [vmOf(id, record), vmOf(other, lost)], capabilities });
    await vi.waitFor(async () => expect((await kept()).gib.machines).toBe(3), 30_000);
  });

  test("may be nothing, and may be any amount", async () => {
    const { create, paused, host, kept, override } = await keeper({ storedGib: 0 });
    expect(await told(await create())).toMatchObject([403, capFull("storage", 0)]);
    await override({ storedGib: null });
    await host.steer({ recordBytes: 5000 * GIB_BYTES });
    await paused();
    expect((await create()).status).toBe(201);
    expect((await kept()).gib).toMatchObject({ used: 5000, cap: null });
  });
});

test("while D1 cannot say what is stored, machines begin to run as far as their records have room", async () => {
  const { host, key, paused, created } = await keeper({ storedGib: 2 });
  await host.steer({ recordBytes: GIB_BYTES, snapshotBytes: 2 * GIB_BYTES });
  const [id, running] = [await paused(), await created()];
  const fail = () => Promise.reject(new Error("D1 is down"));
  const DB = { prepare: () => ({ bind: () => ({ run: fail, first: fail, all: fail }) }) };
  const ask = (path: string, bindings: object = env) => {
    const headers = { authorization: `Bearer ${key}` };
    return app.request(path, { method: "POST", headers }, bindings);
  };
  const down = { ...env, DB };
  expect((await ask(`/sandboxes/${running}/snapshots`)).status).toBe(201);
  expect(await told(await ask("/sandboxes"))).toMatchObject([403, FULL]);
  expect((await ask("/sandboxes", down)).status).toBe(201);
  expect((await ask(`/sandboxes/${id}/resume`, down)).status).toBe(200);
  for (const one of [id, running]) await ask(`/sandboxes/${one}/pause`);
  expect(await told(await ask("/sandboxes", down))).toMatchObject([403, FULL]);
});
