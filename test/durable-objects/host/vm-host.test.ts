import { env } from "cloudflare:workers";
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, test, vi } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import type { StoredHost } from "../../../durable-objects/host/reconcile.ts";
import type { StoredSandbox } from "../../../durable-objects/sandbox/record.ts";
import { call, newOrg, newPool } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost, rewind, vmOf } from "../../support/worker/vm-host.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

async function placed() {
  const host = await newVmHost();
  const { key, orgId } = await newOrg();
  const { sandboxId: id } = await newSandbox(key);
  const stub = env.SANDBOXES.getByName(id);
  const stored = () =>
    runInDurableObject(stub, (_object, state) => {
      const sandbox = state.storage.kv.get<StoredSandbox>("sandbox");
      if (!sandbox) throw new Error("no sandbox");
      return sandbox;
    });
  return { host, key, orgId, id, stub, stored, of: env.HOSTS.getByName(host.hostId) };
}

const endOf = async (orgId: string) => {
  const sql = "SELECT ended_at FROM usage_segments WHERE org_id = ? ORDER BY started_at";
  const { results } = await env.DB.prepare(sql).bind(orgId).all<{ ended_at: number | null }>();
  return results.map((row) => row.ended_at);
};

describe("a heartbeat of a VM host", () => {
  test("with the sandbox keeps it, and rolls its window with what the host saw", async () => {
    const { host, id, stored } = await placed();
    const before = await stored();
    expect(await host.beat()).toEqual({ end: [], pollMs: LIMITS.heartbeatMs });
    expect((await stored()).state).toEqual(before.state);
    const heard = Date.now();
    await host.beat({ sentAt: heard, vms: [vmOf(id, { lastActivityAt: heard })] });
    const { state } = await stored();
    if (state.status !== "running") throw new Error(`it is ${state.status}`);
    expect(state.expiresAt - heard - 7_200_000).toBeGreaterThanOrEqual(0);
    expect(state.expiresAt).toBeLessThanOrEqual(Date.now() + 7_200_000);
  });

  test.each([
    ["an hour ahead", 3_600_000],
    ["a day behind", -86_400_000],
  ])("whose clock is %s rolls the window as if it were right", async (_how, byMs) => {
    const { host, id, stored } = await placed();
    const used = async (agoMs: number) => {
      const sentAt = Date.now() + byMs;
      await host.beat({ sentAt, vms: [vmOf(id, { lastActivityAt: sentAt - agoMs })] });
      const { state } = await stored();
      return state.status === "running" ? state.expiresAt : 0;
    };
    const created = await used(60_000);
    await rewind(id);
    const rolled = await used(20_000);
    expect(rolled - (Date.now() - 20_000 + 7_200_000)).toBeLessThanOrEqual(0);
    expect(created - rolled).toBeLessThan(30_000);
  });

  test("newer than the placement and without it: gone, and its place is free", async () => {
    const { host, key, stub } = await placed();
    await vi.waitFor(async () => {
      // The host's object hears of a placement a second after it.
      await host.beat({ vms: [] });
      expect(await stub.read()).toMatchObject({ state: "gone", closeReason: "host_lost" });
    }, 30_000);
    await vi.waitFor(async () => {
      expect((await call("/sandboxes", { method: "POST", bearer: key })).status).toBe(201);
    }, 30_000);
  });

  test("of another start of the host: gone, billed to when the first was last heard", async () => {
    const { host, orgId, stub } = await placed();
    await host.beat();
    const seenAt = await env.HOSTS.getByName(host.hostId).seenAt();
    await host.beat({ bootId: "another-start", vms: [] });
    expect(await stub.read()).toMatchObject({ state: "gone", closeReason: "host_lost" });
    await vi.waitFor(async () => {
      const [end] = await endOf(orgId);
      // The last heartbeat of the first start may be older than the machine: then it cost nothing.
      expect(end).toBeLessThanOrEqual((seenAt ?? 0) + 1000);
    }, 30_000);
  });

  test("that says its machine died: gone", async () => {
    const { host, id, stub } = await placed();
    const reply = await host.beat({ vms: [vmOf(id, { ended: "machine_died" })] });
    expect(reply.end).toEqual([id]);
    expect(await stub.read()).toMatchObject({ state: "gone", closeReason: "machine_died" });
  });

  test("with a machine of nobody, or of a sandbox that is gone, is told to end it", async () => {
    const { host, id, key } = await placed();
    const beat = await host.heartbeat();
    await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key });
    const vms = [vmOf(id), vmOf("stranger")];
    const reply = await host.beat({ ...beat, seq: beat.seq + 9, vms });
    expect(reply.end.toSorted((a, b) => a.localeCompare(b))).toEqual(
      [id, "stranger"].toSorted((a, b) => a.localeCompare(b)),
    );
  });

  test("with a machine that is still being made waits with it", async () => {
    const { host } = await placed();
    await host.steer({ put: "wait" });
    const other = await newOrg();
    const creating = call("/sandboxes", { method: "POST", bearer: other.key });
    const id = await vi.waitFor(async () => {
      const list = await call("/sandboxes?state=starting", { bearer: other.key });
      const { sandboxes } = await list.json<{ sandboxes: { sandboxId: string }[] }>();
      if (!sandboxes[0]) throw new Error("not yet");
      return sandboxes[0].sandboxId;
    }, 30_000);
    const held = (await host.heartbeat()).vms;
    const reply = await host.beat({ vms: [...held, vmOf(id, { state: "starting" })] });
    expect(reply.end).toEqual([]);
    await vi.waitFor(async () => expect(await host.calls("PUT")).toHaveLength(2), 30_000);
    await host.steer({ put: "fault" });
    expect((await creating).status).toBe(502);
    // Its create has failed: the machine that came after all is nobody's.
    const after = await host.beat({ vms: [...held, vmOf(id)] });
    expect(after.end).toEqual([id]);
  });
});

test("the fleet knows a VM host, and GET /health counts browsers only", async () => {
  const host = await newVmHost({
    hint: "Ein Häkchen fehlt – ✓",
    images: [{ name: "base", state: "building", percent: 40, hint: "„40 %“" }],
  });
  const [record] = await fleet(env).list();
  expect(record).toMatchObject({
    hostId: host.hostId,
    type: "vm",
    versions: { qemu: "7.2.22" },
    accel: { name: "tcg", reason: "no /dev/kvm", bootMs: 4000 },
    free: { slots: 20 },
    images: [{ name: "base", state: "building", percent: 40, hint: "„40 %“" }],
    hint: "Ein Häkchen fehlt – ✓",
  });
  expect(record).not.toHaveProperty("vms");
  const health = await (await call("/health")).json();
  expect(health).toMatchObject({ pools: 0, idle: 0, saturated: true });
  await newPool();
  const hosts = await call("/admin/hosts", { bearer: ADMIN_TOKEN });
  const { hosts: listed } = await hosts.json<{ hosts: { type: string }[] }>();
  expect(listed.map(({ type }) => type)).toEqual(["vm", "pool"]);
});

test("a VM host drains: it is asked to, and once it says so no create goes there", async () => {
  const { host, key } = await placed();
  const path = `/admin/hosts/${host.hostId}/drain`;
  expect((await call(path, { method: "POST", bearer: ADMIN_TOKEN })).status).toBe(202);
  await host.beat({ draining: true });
  const other = await newOrg();
  const response = await call("/sandboxes", { method: "POST", bearer: other.key });
  expect(response.status).toBe(503);
  expect((await call("/sandboxes", { bearer: key })).status).toBe(200);
});

describe("a VM host that falls silent", () => {
  const silence = async ({ host, of }: Awaited<ReturnType<typeof placed>>) => {
    await host.beat();
    await runInDurableObject(of, (_object, state) => {
      const stored = state.storage.kv.get<StoredHost>("host");
      if (!stored) throw new Error("no host");
      state.storage.kv.put("host", { ...stored, seenAt: Date.now() - LIMITS.hostSilenceMs });
    });
    await runDurableObjectAlarm(of);
  };

  test("leaves the sandbox as it is, unbilled; exec is 502, metrics 404; and it comes back", async () => {
    const all = await placed();
    const { host, id, key, orgId, stub } = all;
    await silence(all);
    expect((await fleet(env).list()).map(({ hostId }) => hostId)).not.toContain(host.hostId);
    const record = await call(`/sandboxes/${id}`, { bearer: key });
    expect(await record.json()).toMatchObject({ state: "running" });
    await vi.waitFor(async () => expect((await endOf(orgId))[0]).toBeGreaterThan(0), 30_000);
    const exec = await call(`/sandboxes/${id}/exec`, {
      method: "POST",
      body: '{"cmd":"true"}',
      bearer: key,
    });
    expect(exec.status).toBe(502);
    expect(await exec.json()).toMatchObject({ code: "HostUnreachable", retryable: true });
    expect((await call(`/sandboxes/${id}/metrics`, { bearer: key })).status).toBe(404);
    await evictDurableObject(stub);
    await host.beat();
    await vi.waitFor(async () => expect(await endOf(orgId)).toHaveLength(2), 30_000);
    expect((await endOf(orgId))[1]).toBeNull();
  });

  test("and whose sandbox is deleted meanwhile is told to end it when it is back", async () => {
    const all = await placed();
    const { host, id, key } = all;
    await silence(all);
    await host.steer({ remove: "fault" });
    expect((await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key })).status).toBe(200);
    expect((await host.beat({ vms: [vmOf(id)] })).end).toEqual([id]);
  });
});
