import { describe, expect, test, vi } from "vitest";
import { FAKE_HOST_PLATFORM } from "../../support/fakes/platform.ts";
import { age, storedSandbox } from "../../support/worker/age.ts";
import { ends, running } from "../../support/worker/asleep.ts";
import { call } from "../../support/worker/gateway.ts";
import { anotherVmHost, newSandbox, vmOf } from "../../support/worker/vm-host.ts";

// Longer than any test takes: what is to pass is made to.
const lifecycle = { parkAfterMs: 200_000, hibernateAfterParkedMs: 300_000, parkMaxMs: 5000 };
const IDLE_MS = 201_000;

/** The state in the list: reading that is no use of it. */
async function listed(key: string): Promise<string[]> {
  const response = await call("/sandboxes", { bearer: key });
  const { sandboxes } = await response.json<{ sandboxes: { state: string }[] }>();
  return sandboxes.map(({ state }) => state);
}

describe("parkAfterMs", () => {
  test("parks one that is idle, reports no change, and the next request finds it running", async () => {
    const { host, id, key, post } = await running({ lifecycle });
    await age(id, IDLE_MS);
    await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), 30_000);
    expect(await listed(key)).toEqual(["running"]);
    expect((await post("exec", { cmd: "true" })).status).toBe(200);
    expect((await host.steer()).parked).toEqual([]);
    expect((await storedSandbox(id)).state).toMatchObject({ parkedAt: null });
    // And is parked anew when it is idle again.
    await age(id, IDLE_MS);
    await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), 30_000);
    expect(await host.calls("POST", "park")).toHaveLength(2);
  });

  test("does not keep a caller waiting for longer than parkMaxMs", async () => {
    const { host, id, post } = await running({ lifecycle: { ...lifecycle, parkMaxMs: 0 } });
    await host.steer({ park: "hang" });
    await age(id, IDLE_MS);
    expect((await post("exec", { cmd: "true" })).status).toBe(200);
    expect(await host.calls("POST", "park")).toHaveLength(1);
  });

  test("leaves one alone in which a command runs, however long", async () => {
    const { host, id, post } = await running({
      lifecycle: { parkAfterMs: 2000, hibernateAfterParkedMs: 2000 },
    });
    await host.steer({ exec: "hang", use: "now" });
    const windowOf = async () => (await storedSandbox(id)).state;
    const command = post("exec", { cmd: "sleep", args: ["60"] });
    const before = await windowOf();
    await vi.waitFor(async () => {
      const now = await windowOf();
      if (!("expiresAt" in now && "expiresAt" in before)) throw new Error("it does not run");
      // For longer than it takes to be parked, and paused then.
      expect(now.expiresAt - before.expiresAt).toBeGreaterThan(12_000);
    }, 60_000);
    // Its host was asked each time, and knew better.
    for (const { body } of await host.calls("POST", "park"))
      expect(body).toEqual({ unusedMs: 2000 });
    expect((await host.steer()).parked).toEqual([]);
    expect(await host.states()).toEqual({ [id]: "running" });
    expect(await host.calls("POST", "pause")).toEqual([]);
    await post("pause");
    await command;
  });

  test("on a host that cannot leaves it running", async () => {
    const { host, id, post } = await running({ lifecycle });
    await host.steer({ park: "missing" });
    await age(id, IDLE_MS);
    expect((await post("exec", { cmd: "true" })).status).toBe(200);
  });

  test("is off where it is not asked for", async () => {
    const { host, id } = await running({ lifecycle: { hibernateAfterParkedMs: 2000 } });
    await age(id, 60_000);
    expect(await host.calls("POST", "park")).toEqual([]);
    expect(await host.calls("POST", "pause")).toEqual([]);
  });
});

describe("hibernateAfterParkedMs", () => {
  test("pauses one that is parked for so long: its place is free, its bill closed", async () => {
    const { host, id, key, orgId, post } = await running({ lifecycle });
    await age(id, IDLE_MS);
    await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), 30_000);
    await age(id, 301_000);
    await vi.waitFor(async () => expect(await listed(key)).toEqual(["paused"]), 30_000);
    expect(await host.states()).toEqual({ [id]: "paused" });
    await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true]), 30_000);
    const other = await newSandbox(key);
    await call(`/sandboxes/${other.sandboxId}`, { method: "DELETE", bearer: key });
    expect((await post("resume")).status).toBe(200);
  });

  test("does not pause one that was used meanwhile", async () => {
    const { host, id, post } = await running({ lifecycle });
    await age(id, IDLE_MS);
    await post("exec", { cmd: "true" });
    await age(id, 1000);
    expect(await host.calls("POST", "pause")).toEqual([]);
  });
});

describe("checkpointEveryMs", () => {
  const saving = { lifecycle: { checkpointEveryMs: 60_000 } };

  async function checkpointed(store: "yes" | "no") {
    const all = await running(saving);
    const { host, id } = all;
    await host.steer({ store });
    await age(id, 61_000);
    await vi.waitFor(async () => {
      expect((await storedSandbox(id)).state).toMatchObject({
        checkpoint: { isDurable: store === "yes" },
      });
    }, 30_000);
    return all;
  }

  test("has its host keep it at each interval; it runs on", async () => {
    const { host, id, key } = await checkpointed("no");
    expect(await host.calls("POST", "checkpoint")).toHaveLength(1);
    const { records } = await host.steer();
    expect((await storedSandbox(id)).record).toEqual({
      id: records[id],
      isDurable: false,
      platform: FAKE_HOST_PLATFORM,
      sizeBytes: 1,
    });
    expect(await listed(key)).toEqual(["running"]);
    await age(id, 61_000);
    await vi.waitFor(async () => {
      expect(await host.calls("POST", "checkpoint")).toHaveLength(2);
    }, 30_000);
  });

  test("that fails is tried again, not every few seconds", async () => {
    const { host, id } = await running(saving);
    await host.steer({ checkpoint: "fault" });
    await age(id, 61_000);
    await vi.waitFor(async () => {
      const { retryAt, owed } = await storedSandbox(id);
      expect(owed).toEqual(["checkpoint"]);
      expect(retryAt).toBeGreaterThan(Date.now() + 30_000);
    }, 30_000);
    await host.steer({});
    await age(id, 0);
    await vi.waitFor(async () => {
      expect((await storedSandbox(id)).owed).toEqual([]);
    }, 30_000);
    expect(Object.keys((await host.steer()).records)).toEqual([id]);
  });

  test("lets it go on after its host was killed: paused as of then, not gone", async () => {
    const { host, id, key, orgId, post, state } = await checkpointed("no");
    const recordId = (await host.steer()).records[id] ?? "";
    await host.steer({ asleep: { [id]: recordId } });
    const vms = [vmOf(id, { state: "paused", recordId, checkpointAt: Date.now() - 1000 })];
    const bootId = "another-start";
    expect((await host.beat({ bootId, vms })).end).toEqual([]);
    expect(await listed(key)).toEqual(["paused"]);
    await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true]), 30_000);
    expect(await state()).toBe("paused");
    expect((await post("resume")).status).toBe(200);
    expect(await host.states()).toEqual({ [id]: "running" });
  });

  test("lets it go on after its machine died by itself, its host alive: paused as of then, its place free", async () => {
    const { host, id, key, orgId, post, stub } = await checkpointed("yes");
    const recordId = (await host.steer()).records[id] ?? "";
    await host.steer({ asleep: { [id]: recordId } });
    const { seq } = await host.heartbeat();
    const told = vmOf(id, { state: "paused", recordId, durable: true });
    expect((await host.beat({ seq: seq + 9, vms: [told] })).end).toEqual([]);
    expect(await listed(key)).toEqual(["paused"]);
    expect(await storedSandbox(id)).toMatchObject({ record: { id: recordId, isDurable: true } });
    await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true]), 30_000);
    expect((await post("exec", { cmd: "true" })).status).toBe(409);
    expect((await post("resume")).status).toBe(200);
    expect(await host.states()).toEqual({ [id]: "running" });
    expect(await stub.read()).toMatchObject({ state: "running" });
  });

  test("in the object store lets it go on elsewhere when its host stays away", async () => {
    const { host, id, key, post, stub } = await checkpointed("yes");
    const { bootId, records } = await host.steer();
    const source = { hostId: host.hostId, bootId };
    await stub.hostChanged(source, { type: "hostAway", seenAt: Date.now() });
    await age(id, 220_000);
    await vi.waitFor(async () => expect(await listed(key)).toEqual(["paused"]), 30_000);
    const other = await anotherVmHost({ capabilities: ["snapshots"] });
    await host.steer({ resume: "missing", store: "yes" });
    expect((await post("resume")).status).toBe(200);
    expect(await other.states()).toEqual({ [id]: "running" });
    const [{ body } = { body: null }] = await other.calls("POST", "resume");
    expect(body).toEqual({ recordId: records[id] });
    // The host that comes back with it after all is told to end it.
    const { seq } = await host.heartbeat();
    expect((await host.beat({ seq: seq + 9, vms: [vmOf(id)] })).end).toEqual([id]);
    expect(await other.states()).toEqual({ [id]: "running" });
  });
});
