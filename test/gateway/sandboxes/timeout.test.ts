import { SandboxRecord, TimeoutSet } from "@svc/contract/vm/sandbox.ts";
import { expect, test, vi } from "vitest";
import { running, segments } from "../../support/worker/asleep.ts";
import { storedSandbox } from "../../support/worker/age.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { vmOf } from "../../support/worker/vm-host.ts";

test.each([
  [60_000, 60_000],
  [1e15, 86_400_000],
  [999, 7_200_000],
  ["5000", 7_200_000],
  [null, 7_200_000],
  [1500.5, 7_200_000],
])("a timeout of %o gives the sandbox %i ms", async (timeoutMs, ms) => {
  const { key, path } = await running({ timeoutMs: 50_000 }, 9);
  const response = await call(`${path}/timeout`, { ...json({ timeoutMs }), bearer: key });
  expect(response.status).toBe(200);
  const { expiresAt } = TimeoutSet.parse(await response.json());
  const left = Date.parse(expiresAt) - Date.now();
  expect(left).toBeLessThanOrEqual(ms);
  expect(left).toBeGreaterThan(ms - 20_000);
  // Later activity extends by this value.
  const view = await call(path, { bearer: key });
  const record = SandboxRecord.parse(await view.json());
  expect(Date.parse(record.expiresAt)).toBeGreaterThanOrEqual(Date.parse(expiresAt));
});

test.each(["", "not json", "[]", "null"])(
  "a timeout with a body of %o is the default",
  async (body) => {
    const { key, path } = await running({}, 9);
    const response = await call(`${path}/timeout`, { method: "POST", body, bearer: key });
    expect(response.status).toBe(200);
  },
);

test("the idle window rolls with GET and exec, not with metrics or the list", async () => {
  const { key, path, host, id } = await running({ timeoutMs: 600_000 }, 9);
  const expiry = async () => {
    const { state } = await storedSandbox(id);
    return state.status === "running" ? state.expiresAt : 0;
  };
  const later = async (init: () => Promise<Response>) => {
    const before = await expiry();
    await scheduler.wait(2);
    await init();
    return (await expiry()) > before;
  };
  const exec = () => call(`${path}/exec`, { ...json({ cmd: "true" }), bearer: key });
  expect(await later(() => call(path, { bearer: key }))).toBe(true);
  expect(await later(exec)).toBe(true);
  expect(await later(() => call(`${path}/metrics`, { bearer: key }))).toBe(false);
  expect(await later(() => call("/sandboxes", { bearer: key }))).toBe(false);
  const report = { vms: [vmOf(id, { lastActivityAt: Date.now() + 60_000 })] };
  expect(
    await later(() => host.heartbeat().then((beat) => host.post({ ...beat, ...report }))),
  ).toBe(true);
  // A host whose clock is ahead cannot stretch it beyond one window from now.
  expect((await expiry()) - Date.now()).toBeLessThanOrEqual(600_000);
});

test("an idle window that ends with onTimeout kill ends the sandbox and its machine", async () => {
  const { host, record } = await running({ timeoutMs: 1000, lifecycle: { onTimeout: "kill" } }, 9);
  await vi.waitFor(async () => expect(await host.held()).toEqual([]), 30_000);
  await vi.waitFor(async () => {
    expect(await record()).toMatchObject({ state: "gone", closeReason: "idle" });
  }, 30_000);
});

test("an idle window that ends with onTimeout pause, where no host can pause, leaves the sandbox running and unbilled", async () => {
  const { host, id, orgId, record, key } = await running({ timeoutMs: 1000 }, 9, {
    pause: "unable",
  });
  await vi.waitFor(async () => {
    expect((await segments(orgId))[0]?.ended_at).toBeGreaterThan(0);
  }, 30_000);
  expect(await host.held()).toEqual([id]);
  const list = await call("/sandboxes", { bearer: key });
  expect(await list.json()).toMatchObject({ sandboxes: [{ state: "running" }] });
  // Who comes back finds it as it was, and it is billed anew.
  expect((await record()).state).toBe("running");
  await vi.waitFor(async () => expect(await segments(orgId)).toHaveLength(2), 30_000);
});
