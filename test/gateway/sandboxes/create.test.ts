import { env } from "cloudflare:workers";
import { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { readVmId } from "@svc/contract/tokens.ts";
import { CreateSandbox } from "@svc/contract/vm/create.ts";
import { SandboxCreated, SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test, vi } from "vitest";
import {
  call,
  clearFleet,
  hastily,
  json,
  newOrg,
  unhurried,
} from "../../support/worker/gateway.ts";
import { anotherVmHost, newSandbox, newVmHost } from "../../support/worker/vm-host.ts";
import { ADMIN_TOKEN, SIGNING_SECRET } from "../../support/secrets.ts";

const create = (key: string, body: object = {}) =>
  call("/sandboxes", { ...json(body), bearer: key });

describe("POST /sandboxes", () => {
  test("answers what it got; the host was asked for the defaults", async () => {
    const host = await newVmHost();
    const { key, orgId } = await newOrg();
    const before = Date.now();
    const response = await call("/sandboxes", { method: "POST", bearer: key });
    expect(response.status).toBe(201);
    const made = SandboxCreated.parse(await response.json());
    expect(made).toEqual({
      sandboxId: expect.any(String),
      kind: "sandbox",
      controlUrl: `ws://svc.test/control/${encodeURIComponent(made.sandboxId)}`,
      expiresAt: expect.any(String),
      cpu: 2,
      memMb: 2048,
      diskGb: 4,
      isolation: "dedicated",
      enforcement: { cpu: "vm", memMb: "vm" },
    });
    const idleMs = Date.parse(made.expiresAt) - before;
    expect(idleMs).toBeGreaterThanOrEqual(7_200_000);
    expect(idleMs).toBeLessThan(7_230_000);
    expect(await readVmId(SIGNING_SECRET, made.sandboxId)).toMatchObject({ org: orgId });
    const [placed] = await host.calls("PUT");
    expect(placed?.org).toBe(orgId);
    expect(PlaceVm.parse(placed?.body)).toEqual({
      kind: "sandbox",
      source: { type: "image", name: "base" },
      isolation: "dedicated",
      cpu: 2,
      memMb: 2048,
      diskGb: 4,
      envs: {},
    });
  });

  test("hands the whole request to the host, and says what that gave", async () => {
    const host = await newVmHost();
    const { key } = await newOrg("professional");
    const asked = { cpu: 1, memMb: 300, diskGb: 2, isolation: "hardened", envs: { A: "b" } };
    const made = await newSandbox(key, { ...asked, metadata: { a: "b" }, timeoutMs: 60_000 });
    expect(made).toMatchObject({ cpu: 1, memMb: 512, diskGb: 4, isolation: "hardened" });
    const [placed] = await host.calls("PUT");
    expect(placed?.body).toMatchObject(asked);
    const record = await call(`/sandboxes/${made.sandboxId}`, { bearer: key });
    expect(SandboxRecord.parse(await record.json())).toEqual({
      sandboxId: made.sandboxId,
      kind: "sandbox",
      state: "running",
      metadata: { a: "b" },
      template: "base",
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      cpu: 1,
      memMb: 512,
      diskGb: 4,
    });
  });

  test("null is the default, and an unknown field has no effect", async () => {
    await newVmHost();
    const { key } = await newOrg();
    const names = Object.keys(CreateSandbox.shape).map((name) => [name, null]);
    const made = await newSandbox(key, { ...Object.fromEntries(names), nonsense: { a: 1 } });
    expect(made).toMatchObject({ kind: "sandbox", cpu: 2, memMb: 2048, diskGb: 4 });
  });

  test("clamps the idle window to the plan's maximum", async () => {
    await newVmHost();
    const { key } = await newOrg("free", { vms: 9 });
    for (const timeoutMs of [7_200_001, 1e15, 1e300]) {
      const { expiresAt } = await newSandbox(key, { timeoutMs });
      expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(7_200_000);
    }
  });
});

describe("a create that fails", () => {
  test("without a host is 503 NoCapacity with a hint and Retry-After, and holds nothing", async () => {
    await clearFleet();
    const { key } = await newOrg("free", { vms: 1 });
    for (let n = 0; n < 2; n += 1) {
      const response = await create(key);
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
      expect(await response.json()).toMatchObject({
        code: "NoCapacity",
        retryable: true,
        hint: expect.stringContaining("No registered VM host"),
      });
    }
  });

  test.each([
    ["image", 503, { code: "NoCapacity", retryable: true, hint: "The image is at 40 %." }],
    ["full", 503, { code: "NoCapacity", hint: "Every place on this host is taken." }],
    ["small", 507, { code: "InsufficientCapacity", retryable: true, hint: expect.any(String) }],
    ["lacking", 409, { code: "HostCapabilityMissing", missingCapabilities: ["snapshots"] }],
    ["fault", 502, { code: "HostRejected", retryable: true }],
    ["odd", 502, { code: "HostRejected", retryable: true }],
    ["drop", 502, { code: "HostRejected", retryable: true }],
    ["hang", 502, { code: "HostRejected", retryable: true }],
  ])("because its host answers %s is %i, and holds nothing", async (put, status, body) => {
    const host = await newVmHost();
    await host.steer({ put });
    const { key } = await newOrg("free", { vms: 1 });
    const ask = put === "hang" ? hastily : call;
    const response = await ask("/sandboxes", { ...json({}), bearer: key });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject(body);
    expect(response.headers.has("retry-after")).toBe(status === 503 || status === 507);
    // Its place is given back behind the answer.
    await vi.waitFor(async () => {
      const list = await call("/sandboxes", { bearer: key });
      expect(await list.json()).toEqual({ sandboxes: [] });
    }, 30_000);
    await host.steer({ put: "ok" });
    expect((await create(key)).status).toBe(201);
  });

  test("on one host goes on to the next", async () => {
    const bad = await newVmHost();
    await bad.steer({ put: "fault" });
    const good = await anotherVmHost({ warm: 0 });
    const { key } = await newOrg();
    const made = await newSandbox(key);
    expect(await bad.calls("PUT")).toHaveLength(1);
    expect(await good.held()).toEqual([made.sandboxId]);
  });

  test("at the cap is 429 with cap, plan, kind and holders, and is not retryable", async () => {
    await newVmHost();
    const { key } = await newOrg("free");
    const { sandboxId } = await newSandbox(key);
    const response = await create(key);
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual({
      error: expect.any(String),
      code: "ConcurrencyLimitExceeded",
      plan: "free",
      cap: 1,
      kind: "vm",
      holders: [sandboxId],
    });
    await call(`/sandboxes/${sandboxId}`, { method: "DELETE", bearer: key });
    expect((await create(key)).status).toBe(201);
  });

  test("exactly as many as the cap pass of many at once", async () => {
    unhurried();
    const host = await newVmHost();
    const { key } = await newOrg("starter");
    const answers = await Promise.all(Array.from({ length: 12 }, () => create(key)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, 201, ...Array.from({ length: 10 }, () => 429)]);
    expect(await host.held()).toHaveLength(2);
  });
});

test("a prepaid org without credit is 402, one with some is served", async () => {
  await newVmHost();
  const { key, orgId } = await newOrg("professional");
  const patch = (creditCents: number) =>
    call(`/admin/orgs/${orgId}`, { ...json({ creditCents }, "PATCH"), bearer: ADMIN_TOKEN });
  await patch(0);
  const response = await create(key);
  expect(response.status).toBe(402);
  expect(await response.json()).toMatchObject({ code: "InsufficientCredit" });
  await patch(100);
  expect((await create(key)).status).toBe(201);
  // An hour of 8 vCPU and 16 GiB is 64 cents; ten browser hours are 100.
  await env.DB.prepare(
    "INSERT INTO usage_segments (id, org_id, kind, started_at, ended_at) VALUES (?1, ?2, 'browser', ?3, ?3 + 36000000)",
  )
    .bind(`spent ${orgId}`, orgId, Date.now())
    .run();
  expect((await create(key)).status).toBe(402);
});
