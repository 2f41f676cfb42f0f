import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { FAKE_HOST_PLATFORM } from "../../support/fakes/platform.ts";
import { storedSandbox } from "../../support/worker/age.ts";
import { running } from "../../support/worker/asleep.ts";
import { anotherVmHost, vmOf } from "../../support/worker/vm-host.ts";

const capabilities = ["snapshots"];

/** A paused sandbox, and another host that could let it go on. */
async function paused(store: "yes" | "no") {
  const all = await running();
  const { host, id, post } = all;
  await host.steer({ store });
  await post("pause");
  const { records } = await host.steer();
  const other = await anotherVmHost({ capabilities });
  return { ...all, other, recordId: records[id] ?? "" };
}

test("a resume prefers the host that has the record, durable or not", async () => {
  const { id, host, other, post } = await paused("yes");
  expect((await post("resume")).status).toBe(200);
  expect(await host.states()).toEqual({ [id]: "running" });
  expect(await other.calls("POST", "resume")).toEqual([]);
  const [{ body } = { body: 1 }] = await host.calls("POST", "resume");
  expect(body).toBeNull();
});

test.each(["full", "small", "foreign", "missing", "fault"])(
  "a resume of a durable record goes to another host where its own answers %s",
  async (mode) => {
    const { id, host, other, post, recordId } = await paused("yes");
    await host.steer({ resume: mode });
    expect((await post("resume")).status).toBe(200);
    const [{ body } = { body: null }] = await other.calls("POST", "resume");
    expect(body).toEqual({ recordId });
    expect(await other.states()).toEqual({ [id]: "running" });
    expect((await post("exec", { cmd: "true" })).status).toBe(200);
    expect((await storedSandbox(id)).place).toMatchObject({ hostId: other.hostId });
    // What its own host still holds of it is of nobody.
    expect((await host.beat()).end).toEqual([id]);
    expect((await other.beat({ capabilities })).end).toEqual([]);
  },
);

test("a resume of a durable record does not wait for a host that is away", async () => {
  const { id, host, other, post } = await paused("yes");
  await fleet(env).remove(host.hostId);
  expect((await post("resume")).status).toBe(200);
  expect(await host.calls("POST", "resume")).toEqual([]);
  expect(await other.states()).toEqual({ [id]: "running" });
});

test.each([
  ["full", 503, "NoCapacity"],
  ["foreign", 409, "SnapshotNotRestorable"],
])(
  "a resume of a record that is not durable goes nowhere else: where the host answers %s it is %i",
  async (mode, status, code) => {
    const { host, other, post } = await paused("no");
    await host.steer({ resume: mode });
    const response = await post("resume");
    expect([response.status, await response.json()]).toMatchObject([status, { code }]);
    expect(await other.calls("POST", "resume")).toEqual([]);
  },
);

test("a resume whose answer from another host is lost is 503; the machine that runs there is found, not ended", async () => {
  const { id, host, other, post, state } = await paused("yes");
  const third = await anotherVmHost({ capabilities });
  await fleet(env).remove(host.hostId);
  // Whichever is asked; the other one is not, so that there are never two of it.
  await other.steer({ resume: "lost" });
  await third.steer({ resume: "lost" });
  expect((await post("resume")).status).toBe(503);
  const holders = await Promise.all([other, third].map((one) => one.held()));
  expect(holders.flat()).toEqual([id]);
  const there = holders[0]?.includes(id) ? other : third;
  expect((await there.beat({ capabilities })).end).toEqual([]);
  expect(await state()).toBe("running");
  expect((await storedSandbox(id)).place).toMatchObject({ hostId: there.hostId });
  expect((await host.beat()).end).toEqual([id]);
});

test.each([
  ["its own is full", "full"],
  ["its own is away", null],
])("a resume is not tried on a host of another platform: %s", async (_name, mode) => {
  const { host, other, post, state } = await paused("yes");
  await other.beat({ capabilities, platform: { ...FAKE_HOST_PLATFORM, qemu: "9.0.0" } });
  if (mode === null) await fleet(env).remove(host.hostId);
  else await host.steer({ resume: mode });
  const response = await post("resume");
  // Its own host may have room, or be back, yet.
  expect([response.status, await response.json()]).toMatchObject([503, { code: "NoCapacity" }]);
  expect(await other.calls("POST", "resume")).toEqual([]);
  expect(await state()).toBe("paused");
  await other.beat({ capabilities });
  expect((await post("resume")).status).toBe(200);
});

test("a resume knows the platform of a record also once its host has told that it is stored", async () => {
  const { id, host, other, post, recordId } = await paused("no");
  await host.beat({ vms: [vmOf(id, { state: "paused", recordId, durable: true })] });
  await other.beat({ capabilities, platform: { ...FAKE_HOST_PLATFORM, cpu: "host" } });
  await fleet(env).remove(host.hostId);
  expect((await post("resume")).status).toBe(503);
  expect(await other.calls("POST", "resume")).toEqual([]);
});

test("a resume that no host can do is what its own host says, and the sandbox stays paused", async () => {
  const { id, host, other, post, state } = await paused("yes");
  await host.steer({ resume: "full" });
  await other.steer({ resume: "fault" });
  const response = await post("resume");
  expect([response.status, await response.json()]).toMatchObject([503, { code: "NoCapacity" }]);
  expect(await state()).toBe("paused");
  expect(await host.states()).toEqual({ [id]: "paused" });
});

test("a record that gets to the object store later is told by a heartbeat, and outlives its host", async () => {
  const { id, host, other, post, recordId, state } = await paused("no");
  const told = [vmOf(id, { state: "paused", recordId, durable: true })];
  await host.beat({ vms: told });
  expect(await storedSandbox(id)).toMatchObject({
    record: { id: recordId, isDurable: true },
    state: { isDurable: true },
  });
  // Its host comes back with an empty disk.
  await host.beat({ bootId: "another-start", vms: [] });
  expect(await state()).toBe("paused");
  await host.steer({ resume: "missing" });
  await other.steer({ resume: "full" });
  expect((await post("resume")).status).toBe(409);
  expect(await state()).toBe("paused");
});
