import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import type { StoredSandbox } from "../../../durable-objects/sandbox/record.ts";
import { takeVolumes } from "../../../durable-objects/sandbox/volumes.ts";
import { app } from "../../../src/app.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";
import { createWith, holderOf, newVolume } from "../../support/worker/volumes.ts";

const MOUNTS = { capabilities: ["snapshots", "volumes.mount"] };
const fail = () => Promise.reject(new Error("D1 is down"));
const BROKEN = {
  prepare: () => ({ bind: () => ({ run: fail, first: fail, all: fail }) }),
  batch: fail,
};

async function attached(key: string) {
  const { volumeId } = await newVolume(key);
  const response = await createWith(key, [volumeId]);
  const { sandboxId } = await response.json<{ sandboxId: string }>();
  return { volumeId, sandboxId };
}

const stored = (id: string) =>
  runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) =>
    storage.kv.get<StoredSandbox>("sandbox"),
  );

/** Runs an act while every query about volumes fails. */
async function withoutVolumes<T>(act: () => Promise<T>): Promise<T> {
  await env.DB.prepare("ALTER TABLE volumes RENAME TO volumes_away").run();
  try {
    return await act();
  } finally {
    await env.DB.prepare("ALTER TABLE volumes_away RENAME TO volumes").run();
  }
}

describe("while it cannot be told whether a volume is attached", () => {
  test("a create is 503 VolumeStatusUnknown and reserves nothing; one without volumes is served", async () => {
    const host = await newVmHost(MOUNTS);
    const { key } = await newOrg("professional");
    const { volumeId } = await newVolume(key);
    const headers = { authorization: `Bearer ${key}` };
    const create = (body: object) =>
      app.request("/sandboxes", { ...json(body), headers }, { ...env, DB: BROKEN });
    const response = await create({ volumes: [{ volumeId, path: "/data" }] });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "VolumeStatusUnknown", retryable: true });
    expect(await host.held()).toEqual([]);
    expect((await create({})).status).toBe(201);
  });

  test("because its holder cannot be asked, a create and a DELETE are 503", async () => {
    await newVmHost(MOUNTS);
    const { key } = await newOrg("professional");
    const { volumeId, sandboxId } = await attached(key);
    const headers = { authorization: `Bearer ${key}` };
    const silent = { getByName: () => ({ kind: fail }) };
    const ask = (path: string, init: RequestInit) =>
      app.request(path, { ...init, headers }, { ...env, SANDBOXES: silent });
    const answers = [
      await ask("/sandboxes", json({ volumes: [{ volumeId, path: "/data" }] })),
      await ask(`/volumes/${volumeId}`, { method: "DELETE" }),
    ];
    for (const response of answers) {
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ code: "VolumeStatusUnknown", retryable: true });
    }
    expect(await holderOf(volumeId)).toBe(sandboxId);
  });

  test("D1 that fails between the check and the attachment: 503, no host is asked, the place is free", async () => {
    const host = await newVmHost(MOUNTS);
    const { key, orgId: org } = await newOrg("free", { vms: 1 });
    const { volumeId } = await newVolume(key);
    const body = { kind: "sandbox", cpu: 1, memMb: 512, diskGb: 4, envs: {} } as const;
    const order = {
      id: "x",
      org,
      volumes: [{ volumeId, path: "/data" }],
      body: { ...body, isolation: "dedicated", source: { type: "image", name: "base" } } as const,
    };
    const taken = await takeVolumes({ ...env, DB: BROKEN as never }, order);
    expect(taken).toMatchObject({ refused: { code: "VolumeStatusUnknown" } });
    expect(await host.held()).toEqual([]);
    expect((await createWith(key, [volumeId])).status).toBe(201);
  });
});

describe("what a sandbox that is over did not give back", () => {
  test("because D1 failed is owed, and given back by its alarm", async () => {
    await newVmHost(MOUNTS);
    const { key } = await newOrg("professional");
    const { volumeId, sandboxId } = await attached(key);
    const stub = env.SANDBOXES.getByName(sandboxId);
    await withoutVolumes(async () => {
      await call(`/sandboxes/${sandboxId}`, { method: "DELETE", bearer: key });
      // Its alarm may ring meanwhile: it fails just as well.
      expect((await stored(sandboxId))?.owed).toContain("volumes");
      await evictDurableObject(stub);
    });
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(stub);
      expect((await stored(sandboxId))?.owed).toEqual([]);
    }, 30_000);
    expect(await holderOf(volumeId)).toBe(null);
  });

  test("is anybody's: the next create takes it, and a DELETE deletes it", async () => {
    await newVmHost(MOUNTS);
    const { key } = await newOrg("professional");
    const { volumeId, sandboxId } = await attached(key);
    const dangle = () =>
      env.DB.prepare("UPDATE volumes SET attached_to = ? WHERE id = ?")
        .bind(sandboxId, volumeId)
        .run();
    await call(`/sandboxes/${sandboxId}`, { method: "DELETE", bearer: key });
    await dangle();
    const next = await createWith(key, [volumeId]);
    expect(next.status).toBe(201);
    const { sandboxId: heir } = await next.json<{ sandboxId: string }>();
    expect(await holderOf(volumeId)).toBe(heir);
    await call(`/sandboxes/${heir}`, { method: "DELETE", bearer: key });
    await dangle();
    const drop = await call(`/volumes/${volumeId}`, { method: "DELETE", bearer: key });
    expect(drop.status).toBe(200);
  });

  test("it does not take from the one that has it now", async () => {
    await newVmHost(MOUNTS);
    const { key } = await newOrg("professional");
    const { volumeId, sandboxId } = await attached(key);
    await call(`/sandboxes/${sandboxId}`, { method: "DELETE", bearer: key });
    const next = await createWith(key, [volumeId]);
    const { sandboxId: heir } = await next.json<{ sandboxId: string }>();
    // Repeated duties of the first one.
    await call(`/sandboxes/${sandboxId}`, { method: "DELETE", bearer: key });
    await runDurableObjectAlarm(env.SANDBOXES.getByName(sandboxId));
    expect(await holderOf(volumeId)).toBe(heir);
  });
});

/** A create whose host does not answer until it is steered, at the moment its sandbox has the volume. */
async function hangingCreate() {
  const host = await newVmHost(MOUNTS);
  await host.steer({ put: "wait" });
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  const creating = createWith(key, [volumeId]);
  const id = await vi.waitFor(async () => {
    const holder = await holderOf(volumeId);
    if (holder === null) throw new Error("not yet");
    return holder;
  }, 30_000);
  return { host, key, volumeId, creating, id };
}

test("a create whose object dies while its host makes the machine gives its volumes back", async () => {
  const { key, volumeId, creating, id } = await hangingCreate();
  const stub = env.SANDBOXES.getByName(id);
  await runInDurableObject(stub, (_object, state) => state.abort("test")).catch(() => undefined);
  expect((await creating).status).toBe(503);
  // Its holder is starting as far as anybody knows.
  expect((await createWith(key, [volumeId])).status).toBe(409);
  await runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) => {
    const sandbox = storage.kv.get<StoredSandbox>("sandbox");
    if (sandbox?.state.status !== "starting") throw new Error("not starting");
    storage.kv.put("sandbox", {
      ...sandbox,
      state: { ...sandbox.state, giveUpAt: Date.now() - 1 },
    });
  });
  await vi.waitFor(async () => {
    await runDurableObjectAlarm(env.SANDBOXES.getByName(id));
    expect(await holderOf(volumeId)).toBe(null);
  }, 30_000);
});

test("a sandbox that is deleted while it is created keeps no volume", async () => {
  const { host, key, volumeId, creating, id } = await hangingCreate();
  await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key });
  await vi.waitFor(async () => expect(await holderOf(volumeId)).toBe(null), 30_000);
  await host.steer({});
  expect((await createWith(key, [volumeId])).status).toBe(201);
  expect((await creating).status).toBeGreaterThanOrEqual(502);
});

test("an Idempotency-Key replays the sandbox that has the volume", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  const init = { ...json({ volumes: [{ volumeId, path: "/data" }] }), bearer: key };
  const headers = { "idempotency-key": "once" };
  const [first, again] = await Promise.all([
    call("/sandboxes", { ...init, headers }),
    call("/sandboxes", { ...init, headers }),
  ]);
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(await first.text()).toBe(await again.text());
});
