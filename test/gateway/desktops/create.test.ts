import { partName } from "@svc/contract/host-protocol/recording-part.ts";
import { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { CreateDesktop, DesktopCreated } from "@svc/contract/vm/desktop.ts";
import { SandboxCreated, SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test, vi } from "vitest";
import { call, clearFleet, json, newOrg } from "../../support/worker/gateway.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";
import { ADMIN_TOKEN, HOST_TOKEN } from "../../support/secrets.ts";

const ABLE = { capabilities: ["desktop", "recording"] };
const HOUR = 3_600_000;

const post = (key: string, body: unknown = {}, headers = {}) =>
  call("/desktops", { ...json(body), headers, bearer: key });

async function made(key: string, body: object = {}): Promise<DesktopCreated> {
  const response = await post(key, body);
  return DesktopCreated.parse(await response.json());
}

describe("POST /desktops", () => {
  test("makes the default desktop, which is a sandbox too", async () => {
    const host = await newVmHost(ABLE);
    const { key } = await newOrg("starter");
    const before = Date.now();
    const response = await call("/desktops", { method: "POST", bearer: key });
    expect(response.status).toBe(201);
    const body = DesktopCreated.parse(await response.json());
    const id = encodeURIComponent(body.sessionId);
    expect(body).toEqual({
      sessionId: expect.any(String),
      streamUrl: `ws://svc.test/stream/${id}`,
      controlUrl: `ws://svc.test/control/${id}`,
      expiresAt: expect.any(String),
    });
    const idleMs = Date.parse(body.expiresAt) - before;
    expect(idleMs).toBeGreaterThanOrEqual(HOUR / 2);
    expect(idleMs).toBeLessThan(HOUR / 2 + 30_000);
    const [placed] = await host.calls("PUT");
    expect(PlaceVm.parse(placed?.body)).toEqual({
      kind: "desktop",
      source: { type: "image", name: "desktop" },
      isolation: "dedicated",
      cpu: 2,
      memMb: 2048,
      diskGb: 4,
      envs: {},
      resolution: "1280x720",
    });
    const record = await call(`/sandboxes/${id}`, { bearer: key });
    const sandbox = SandboxRecord.parse(await record.json());
    const screen = { kind: "desktop", resolution: "1280x720" };
    expect(sandbox).toMatchObject({ ...screen, state: "running", template: "default" });
    const list = await call("/sandboxes?kind=desktop", { bearer: key });
    const item = { ...screen, sandboxId: body.sessionId };
    expect(await list.json()).toMatchObject({ sandboxes: [item] });
  });

  test("hands every field of its own table to the host, and none of the other one", async () => {
    const host = await newVmHost(ABLE);
    const { key } = await newOrg("professional");
    const asked = { cpu: 8, memMb: 16_384, isolation: "hardened", resolution: "800x600" };
    const foreign = { kind: "sandbox", fromSnapshot: "snap_1", diskGb: 20, envs: { A: "b" } };
    const lifecycle = { onTimeout: "kill", autoResume: true };
    const metadata = { job: "a" };
    const { sessionId } = await made(key, {
      ...asked,
      ...foreign,
      lifecycle,
      metadata,
      template: "office",
    });
    const [placed] = await host.calls("PUT");
    expect(placed?.body).toMatchObject({
      ...asked,
      kind: "desktop",
      source: { type: "image", name: "office" },
      diskGb: 4,
      envs: {},
    });
    const record = await call(`/sandboxes/${sessionId}`, { bearer: key });
    expect(await record.json()).toMatchObject({ metadata, template: "office" });
  });

  test("null is the default in every field", async () => {
    await newVmHost(ABLE);
    const { key } = await newOrg("professional");
    const names = Object.keys(CreateDesktop.shape);
    expect(names.toSorted()).toEqual([
      "cpu",
      "isolation",
      "lifecycle",
      "memMb",
      "metadata",
      "record",
      "resolution",
      "template",
      "timeoutMs",
      "ttlSeconds",
      "volumes",
    ]);
    const response = await post(key, Object.fromEntries(names.map((name) => [name, null])));
    expect(response.status).toBe(201);
  });

  test.each([
    ["timeoutMs wins over ttlSeconds", { timeoutMs: 60_000, ttlSeconds: 600 }, 60_000],
    ["ttlSeconds alone is the idle window", { ttlSeconds: 600 }, 600_000],
    ["ttlSeconds beyond the plan is clamped", { ttlSeconds: 1e300 }, 8 * HOUR],
    ["timeoutMs beyond the plan is clamped", { timeoutMs: 1e15 }, 8 * HOUR],
  ])("%s", async (_name, body, windowMs) => {
    await newVmHost(ABLE);
    const { key } = await newOrg("starter");
    const before = Date.now();
    const { expiresAt } = await made(key, body);
    const gotMs = Date.parse(expiresAt) - before;
    expect(gotMs).toBeGreaterThanOrEqual(windowMs);
    expect(gotMs).toBeLessThan(windowMs + 30_000);
  });

  test("the same key replays the first answer to the byte, another route or body is 409", async () => {
    const host = await newVmHost(ABLE);
    const { key } = await newOrg("professional");
    const headers = { "idempotency-key": "a desk" };
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, n) =>
        post(key, n % 2 ? { cpu: 1, memMb: 512 } : { memMb: 512, cpu: 1 }, headers),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1);
    const replayed = answers.filter((answer) => answer.headers.has("idempotent-replayed"));
    expect(replayed).toHaveLength(3);
    expect(await host.held()).toHaveLength(1);
    const other = await post(key, { cpu: 2 }, headers);
    const route = await call("/sandboxes", {
      ...json({ cpu: 1, memMb: 512 }),
      headers,
      bearer: key,
    });
    for (const answer of [other, route]) {
      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({ code: "IdempotencyKeyReused" });
    }
    // A wrong body is 400 before its key is looked at; an empty key is 400.
    expect((await post(key, { cpu: 0 }, headers)).status).toBe(400);
    const empty = await post(key, {}, { "idempotency-key": "" });
    expect(await empty.json()).toMatchObject({ code: "InvalidIdempotencyKey" });
  });
});

describe("POST /sandboxes of kind desktop", () => {
  test("answers where its screen is", async () => {
    await newVmHost(ABLE);
    const { key } = await newOrg("starter");
    const response = await call("/sandboxes", { ...json({ kind: "desktop" }), bearer: key });
    const body = SandboxCreated.parse(await response.json());
    expect(body.streamUrl).toBe(`ws://svc.test/stream/${encodeURIComponent(body.sandboxId)}`);
    expect(body).not.toHaveProperty("recordingUrl");
    // What the one surface made the other one knows.
    const record = await call(`/desktops/${body.sandboxId}`, { bearer: key });
    expect(await record.json()).toMatchObject({ sessionId: body.sandboxId, status: "ready" });
  });
});

describe("record: true", () => {
  const desktop = { record: true };
  test.each([
    ["/desktops", desktop],
    ["/sandboxes", { ...desktop, kind: "desktop" }],
  ])("at %s answers a signed URL where the recording will be", async (path, body) => {
    const host = await newVmHost(ABLE);
    const { key } = await newOrg("starter");
    const response = await call(path, { ...json(body), bearer: key });
    expect(response.status).toBe(201);
    const { recordingUrl } = await response.json<{ recordingUrl: string }>();
    expect(recordingUrl).toMatch(/^http:\/\/svc\.test\/objects\/./);
    const [placed] = await host.calls("PUT");
    expect(placed?.body).toMatchObject(desktop);
    // Nothing is recorded yet; the host stores it at the key that this URL names.
    expect((await call(recordingUrl)).status).toBe(404);
    const [sandbox] = await host.held();
    const file = partName({ runAt: 1, offsetMs: 0, durationMs: 10_000, isCut: false });
    const object = { purpose: "recording", org: placed?.org, sandbox, file };
    const part = `${" ".repeat(22)}video`;
    const asked = await call("/internal/objects", {
      ...json({ object, sizeBytes: part.length }),
      bearer: HOST_TOKEN,
    });
    const { put } = await asked.json<{ put: string }>();
    expect((await call(put, { method: "PUT", body: part })).status).toBe(200);
    const recording = await call(recordingUrl);
    expect(recording.headers.get("content-type")).toBe("video/webm");
    expect(await recording.text()).toContain("video");
  });

  test("where no host serves desktops is refused as a desktop without it is", async () => {
    await newVmHost({ capabilities: [] });
    const { key } = await newOrg("starter");
    const answers = await Promise.all([{}, desktop].map((body) => post(key, body)));
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    const [plain, recorded] = await Promise.all(answers.map((answer) => answer.json()));
    expect(recorded).toEqual(plain);
    expect(recorded).toMatchObject({ code: "NoCapacity" });
  });

  test("where no host records is 409: refused, not ignored", async () => {
    await newVmHost({ capabilities: ["desktop"] });
    const { key } = await newOrg("starter");
    const response = await post(key, desktop);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({
      code: "HostCapabilityMissing",
      missingCapabilities: ["recording"],
    });
  });
});

describe("a create that is refused:", () => {
  const neither = { features: { sandboxes: false, desktops: false } };
  test.each<[string, "free" | "starter", object, object, number, string]>([
    ["a wrong field before the plan", "free", neither, { cpu: 0 }, 400, "ValidationError"],
    ["a plan with neither product", "free", neither, {}, 403, "NotEntitled"],
    ["a plan without desktops", "free", {}, {}, 402, "FeatureRequiresPlan"],
    ["an unknown template", "starter", {}, { template: "tpl_1" }, 404, "NotFound"],
    // This surface does not refuse it for the recording: the template alone is what is wrong.
    ["and recorded", "starter", {}, { template: "tpl_1", record: true }, 404, "NotFound"],
    ["the concurrency", "starter", { vms: 0 }, {}, 429, "ConcurrencyLimitExceeded"],
  ])("%s", async (_name, plan, overrides, body, status, code) => {
    await newVmHost(ABLE);
    const { key } = await newOrg(plan, overrides);
    const response = await post(key, body);
    expect(response.status).toBe(status);
    const refused = await response.json();
    expect(refused).toMatchObject({ code });
    expect(refused).not.toHaveProperty("retryable");
  });

  test("an org without credit", async () => {
    await newVmHost(ABLE);
    const { key, orgId } = await newOrg("starter");
    const none = { ...json({ creditCents: 0 }, "PATCH"), bearer: ADMIN_TOKEN };
    await call(`/admin/orgs/${orgId}`, none);
    const response = await post(key);
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({ code: "InsufficientCredit" });
  });

  test("while no host serves desktops: 503 NoCapacity with a hint, which holds nothing", async () => {
    const { key } = await newOrg("starter", { vms: 1 });
    for (const facts of [null, {}]) {
      await (facts ? newVmHost(facts) : clearFleet());
      const response = await post(key);
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
      expect(await response.json()).toMatchObject({
        code: "NoCapacity",
        retryable: true,
        hint: expect.stringContaining("desktops"),
      });
    }
    await vi.waitFor(async () => {
      const list = await call("/sandboxes", { bearer: key });
      expect(await list.json()).toEqual({ sandboxes: [] });
    }, 30_000);
  });

  test.each([
    ["full", 503, "NoCapacity"],
    ["small", 507, "InsufficientCapacity"],
    ["lacking", 409, "HostCapabilityMissing"],
    ["fault", 502, "HostRejected"],
    ["drop", 502, "HostRejected"],
  ])("by a host that answers %s", async (mode, status, code) => {
    const host = await newVmHost(ABLE);
    await host.steer({ put: mode });
    const { key } = await newOrg("starter", { vms: 1 });
    const response = await post(key);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code, retryable: true });
    await host.steer({ put: "ok" });
    // Its place is given back behind the answer.
    await vi.waitFor(async () => expect((await post(key)).status).toBe(201), 30_000);
  });
});
