import { running, segments } from "../../support/worker/asleep.ts";
import { storedSandbox } from "../../support/worker/age.ts";
import { env } from "cloudflare:workers";
import { evictDurableObject } from "cloudflare:test";
import { mintVmId } from "@svc/contract/tokens.ts";
import { SandboxRecord, TimeoutSet } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test, vi } from "vitest";
import { call, json } from "../../support/worker/gateway.ts";
import { newSandbox, sandboxView, vmOf } from "../../support/worker/vm-host.ts";

const NO_SANDBOX = '{"error":"There is no such sandbox.","code":"NotFound"}';

describe("DELETE /sandboxes/:id", () => {
  test("ends the machine, frees the place, closes the bill; the record stays for a day", async () => {
    const { host, key, orgId, id, path, record } = await running({}, 9);
    await vi.waitFor(async () => expect(await segments(orgId)).toHaveLength(1), 30_000);
    const response = await call(path, { method: "DELETE", bearer: key });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true });
    expect(await host.held()).toEqual([]);
    expect(await record()).toMatchObject({
      sandboxId: id,
      state: "gone",
      closeReason: "deleted",
      cpu: 2,
    });
    await vi.waitFor(async () => {
      const [segment] = await segments(orgId);
      expect(segment).toMatchObject({ kind: "vm", cpu: 2, mem_mb: 2048 });
      expect(segment?.ended_at).toBeGreaterThan(0);
    }, 30_000);
  });

  test("again, and of one that is long forgotten, is 200", async () => {
    const { key, orgId, path } = await running({}, 9);
    const forgotten = await mintVmId("signing", { org: orgId, issuedAt: 5 });
    for (const one of [path, path, `/sandboxes/${forgotten}`]) {
      const response = await call(one, { method: "DELETE", bearer: key });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ ok: true });
    }
    const gone = await call(`/sandboxes/${forgotten}`, { bearer: key });
    expect(gone.status).toBe(404);
    expect(await gone.text()).toBe(NO_SANDBOX);
  });

  test("frees a reservation that dangles though nothing else is known of it", async () => {
    const { orgId } = await running({}, 9);
    const org = env.ORGS.getByName(orgId);
    const id = await mintVmId("signing", { org: orgId, issuedAt: Date.now() });
    await org.reserveSandbox({ view: sandboxView(id), cap: 10, lapsesAt: Date.now() + 60_000 });
    await env.SANDBOXES.getByName(id).delete({ org: orgId, id });
    const query = { limit: 9, cursor: null, state: "starting", kind: null, metadata: [] } as const;
    expect((await org.sandboxes({ ...query, metadata: [] })).sandboxes).toEqual([]);
  });

  test.each(["hang", "fault"])(
    "answers though its host answers %s: it is being released, and its place is free",
    async (remove) => {
      const { host, key, path, record } = await running({}, 9);
      await host.steer({ remove });
      expect((await call(path, { method: "DELETE", bearer: key })).status).toBe(200);
      expect((await record()).state).toBe("releasing");
      const { sandboxId } = await newSandbox(key);
      expect(sandboxId).toBeTruthy();
    },
  );
});

test("sub-routes of a sandbox that is gone are 404 with the same bytes as of a forged id", async () => {
  const { key, path } = await running({}, 9);
  await call(path, { method: "DELETE", bearer: key });
  for (const [method, rest, body] of [
    ["POST", "/exec", { cmd: "true" }],
    ["GET", "/metrics", null],
    ["POST", "/timeout", {}],
  ] as const) {
    const init = body ? json(body) : { method };
    const response = await call(path + rest, { ...init, bearer: key });
    expect([rest, response.status]).toEqual([rest, 404]);
    expect(await response.text()).toBe(NO_SANDBOX);
  }
});

describe("the idle window", () => {
  test("rolls with GET and exec, not with metrics or the list", async () => {
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

  test("that ends with onTimeout kill ends the sandbox and its machine", async () => {
    const { host, record } = await running(
      { timeoutMs: 1000, lifecycle: { onTimeout: "kill" } },
      9,
    );
    await vi.waitFor(async () => expect(await host.held()).toEqual([]), 30_000);
    await vi.waitFor(async () => {
      expect(await record()).toMatchObject({ state: "gone", closeReason: "idle" });
    }, 30_000);
  });

  test("that ends with onTimeout pause, where no host can pause, leaves it running and unbilled", async () => {
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

  test.each([
    [60_000, 60_000],
    [1e15, 86_400_000],
    [999, 7_200_000],
    ["5000", 7_200_000],
    [null, 7_200_000],
    [1500.5, 7_200_000],
  ])("POST timeout %o gives it %i ms", async (timeoutMs, ms) => {
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
    "POST timeout with a body of %o is the default",
    async (body) => {
      const { key, path } = await running({}, 9);
      const response = await call(`${path}/timeout`, { method: "POST", body, bearer: key });
      expect(response.status).toBe(200);
    },
  );
});

test("a sandbox survives the eviction of its object", async () => {
  const { stub, record, id } = await running({ metadata: { a: "b" } }, 9);
  await evictDurableObject(stub);
  expect(await record()).toMatchObject({ sandboxId: id, state: "running", metadata: { a: "b" } });
});
