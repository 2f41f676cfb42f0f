import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test, vi } from "vitest";
import { FAKE_HOST_PLATFORM } from "../../support/fakes/platform.ts";
import { call, clearFleet, json, newOrg } from "../../support/worker/gateway.ts";
import { snapshotting } from "../../support/worker/snapshots.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";
import {
  anotherBuildHost,
  bodyOf,
  newBuildHost,
  newTemplate,
  post,
  readyTemplate,
} from "../../support/worker/templates.ts";

const ROOM = { cpu: 64, diskGb: 100, slots: 20 };

const create = (key: string, body: object) => call("/sandboxes", { ...json(body), bearer: key });

test("a sandbox of a template goes on where the build ended, on the host that has it, in its sizes", async () => {
  const host = await newBuildHost();
  const { key } = await newOrg("professional");
  const { templateId } = await readyTemplate(key, bodyOf({}, { cpu: 1, memMb: 1024, diskGb: 6 }));
  const other = await anotherBuildHost();
  await host.beat({ capabilities: ["snapshots"], warm: 0 });
  const response = await create(key, { template: templateId, envs: { A: "b" } });
  expect(response.status).toBe(201);
  const created = SandboxCreated.parse(await response.json());
  expect(created).toMatchObject({ kind: "sandbox", cpu: 1, memMb: 1024, diskGb: 6 });
  expect([await host.held(), await other.held()]).toEqual([[created.sandboxId], []]);
  const [placed] = await host.calls("PUT");
  const source = { type: "snapshot", id: templateId };
  expect(placed?.body).toMatchObject({ source, cpu: 1, memMb: 1024, envs: { A: "b" } });
  const record = await call(`/sandboxes/${created.sandboxId}`, { bearer: key });
  expect(await record.json()).toMatchObject({ template: templateId, memMb: 1024 });
});

test("one that is being built, or that failed, is 409 and takes no place", async () => {
  const host = await newBuildHost();
  await host.steer({ build: "hang" });
  const { key } = await newOrg("professional");
  const { templateId } = await newTemplate(key);
  for (let times = 0; times < 2; times += 1) {
    const response = await create(key, { template: templateId });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "TemplateNotReady" });
    await call(`/templates/${templateId}/cancel`, { method: "POST", bearer: key });
  }
  expect(await host.calls("PUT")).toEqual([]);
});

test("another kind is 400 before it is asked whether it is ready; another org's is 404", async () => {
  const host = await newBuildHost();
  await host.steer({ build: "hang" });
  const { key } = await newOrg("professional");
  const { key: other } = await newOrg("professional");
  const { templateId } = await newTemplate(key);
  const mismatch = await create(key, { template: templateId, kind: "desktop" });
  expect(mismatch.status).toBe(400);
  expect(await mismatch.json()).toMatchObject({ code: "TemplateKindMismatch", field: "template" });
  const foreign = await create(other, { template: templateId });
  expect(foreign.status).toBe(404);
  expect(await foreign.text()).toBe('{"error":"There is no such template.","code":"NotFound"}');
});

test("a template of a template begins with it, and has its sizes", async () => {
  const host = await newBuildHost();
  const { key } = await newOrg("professional");
  const { templateId } = await readyTemplate(key, bodyOf({}, { memMb: 1024 }));
  const from = { template: templateId };
  const second = await vi.waitFor(() => readyTemplate(key, bodyOf({ from })), 90_000);
  expect(second).toMatchObject({ state: "ready", memMb: 1024 });
  const { calls } = await host.steer();
  const asked = calls.find(({ path }) => path === `/templates/${second.templateId}`);
  expect(asked?.body).toMatchObject({ from: { type: "snapshot", id: templateId } });
});

test("a shared sandbox of a template is 400", async () => {
  const { key } = await newOrg("professional");
  const response = await create(key, { template: "tpl_x", isolation: "shared" });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "ValidationError", field: "isolation" });
});

test("a desktop's template makes desktops, by both routes; a sandbox's makes none", async () => {
  const capabilities = ["snapshots", "desktop"];
  const host = await newVmHost({ capabilities });
  const { key } = await newOrg("professional");
  const compiled = { from: { template: "default" }, steps: [] };
  const { templateId } = await readyTemplate(key, { name: "mine", kind: "desktop", compiled });
  const { calls } = await host.steer();
  const build = calls.find(({ path }) => path === `/templates/${templateId}`);
  expect(build?.body).toMatchObject({ kind: "desktop", from: { type: "image", name: "desktop" } });
  await host.beat({ capabilities });
  const desktop = (template: string) => call("/desktops", { ...json({ template }), bearer: key });
  expect((await desktop(templateId)).status).toBe(201);
  expect((await create(key, { kind: "desktop", template: templateId })).status).toBe(201);
  const [placed] = await host.calls("PUT");
  expect(placed?.body).toMatchObject({ kind: "desktop", source: { id: templateId } });
  const wrong = await create(key, { template: templateId });
  expect([wrong.status, (await wrong.json<{ code: string }>()).code]).toEqual([
    400,
    "TemplateKindMismatch",
  ]);
  const other = await vi.waitFor(() => readyTemplate(key), 90_000);
  const refused = await desktop(other.templateId);
  expect([refused.status, (await refused.json<{ code: string }>()).code]).toEqual([
    400,
    "TemplateKindMismatch",
  ]);
  expect((await desktop("tpl_AAAAAAAAAAAAAAAAAAAA")).status).toBe(404);
});

test("a template of a snapshot begins with it on the host that has it, in its sizes; another's is 404", async () => {
  const { host, key, taken } = await snapshotting({ memMb: 1024 });
  const { snapshotId, memMb } = await taken();
  const other = await anotherBuildHost();
  await host.beat({ capabilities: ["snapshots"], free: { ...ROOM, memMb: 1 } });
  const ready = await readyTemplate(key, bodyOf({ from: { snapshot: snapshotId } }));
  expect(ready).toMatchObject({ state: "ready", memMb });
  // Hosts are everybody's: builds of other tests may come to them.
  expect((await host.steer()).templates).toContain(ready.templateId);
  expect((await other.steer()).templates).not.toContain(ready.templateId);
  const { calls } = await host.steer();
  const asked = calls.find(({ path }) => path === `/templates/${ready.templateId}`);
  expect(asked?.body).toMatchObject({ from: { type: "snapshot", id: snapshotId }, memMb });
  const { key: stranger } = await newOrg("professional");
  const foreign = await post(stranger, bodyOf({ from: { snapshot: snapshotId } }));
  expect(foreign.status).toBe(404);
  const kind = { kind: "desktop", compiled: { from: { snapshot: snapshotId }, steps: [] } };
  const wrong = await post(key, bodyOf({}, kind));
  expect(wrong.status).toBe(400);
  expect(await wrong.json()).toMatchObject({ field: "compiled.from.snapshot" });
});

describe("a template of a platform that", () => {
  const capabilities = ["snapshots"];
  const foreign = { capabilities, platform: { ...FAKE_HOST_PLATFORM, qemu: "9.0.0" } };

  test("no host has is 409 for good, before any host is asked and before 429", async () => {
    const host = await newBuildHost();
    const { key } = await newOrg("professional", { vms: 0 });
    const { templateId } = await readyTemplate(key);
    await host.beat(foreign);
    const second = bodyOf({ from: { template: templateId } });
    for (const response of [await create(key, { template: templateId }), await post(key, second)]) {
      expect(response.status).toBe(409);
      const wanted = { code: "SnapshotNotRestorable", retryable: false };
      expect(await response.json()).toMatchObject(wanted);
    }
    expect(await host.calls("PUT")).toEqual([]);
    await host.beat({ capabilities });
    expect((await create(key, { template: templateId })).status).toBe(429);
  });

  test("an emptier host has not is made where it can run, or not at all", async () => {
    const host = await newBuildHost();
    const { key } = await newOrg("professional");
    const { templateId } = await readyTemplate(key);
    const other = await anotherBuildHost();
    await other.beat({ ...foreign, free: { ...ROOM, memMb: 1_000_000 } });
    expect((await create(key, { template: templateId })).status).toBe(201);
    expect(await host.held()).toHaveLength(1);
    await host.steer({ put: "full" });
    const response = await create(key, { template: templateId });
    expect([response.status, await response.json()]).toMatchObject([503, { code: "NoCapacity" }]);
    expect(await other.calls("PUT")).toEqual([]);
  });

  test("an emptier host has not is built on where it can run", async () => {
    const host = await newBuildHost();
    const { key } = await newOrg("professional");
    const { templateId } = await readyTemplate(key);
    const other = await anotherBuildHost();
    await other.beat({ ...foreign, free: { ...ROOM, memMb: 1_000_000 } });
    const second = bodyOf({ from: { template: templateId } });
    const ready = await vi.waitFor(() => readyTemplate(key, second), 90_000);
    expect((await host.steer()).templates).toContain(ready.templateId);
    const { calls } = await other.steer();
    expect(calls.filter(({ path }) => path === `/templates/${ready.templateId}`)).toEqual([]);
  });
});

test("a template whose host is away is 503: it may come back", async () => {
  const host = await newBuildHost();
  const { key } = await newOrg("professional");
  const { templateId } = await readyTemplate(key);
  await clearFleet();
  await anotherBuildHost();
  const response = await create(key, { template: templateId });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: "NoCapacity", retryable: true });
  expect(await host.held()).toEqual([]);
});
