import { describe, expect, test } from "vitest";
import { call, clearFleet, json, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost } from "../../support/worker/vm-host.ts";

await clearFleet();
const { key } = await newOrg("professional");
const post = (body: unknown, init: RequestInit = {}) =>
  call("/sandboxes", { ...json(body), bearer: key, ...init });

describe("a field that is wrong is 400 ValidationError, names itself and reserves nothing:", () => {
  const long = "x".repeat(1025);
  test.each<[string, string, unknown]>([
    ["kind", "kind", "vm"],
    ["kind", "kind", ""],
    ["kind", "kind", 1],
    ["template", "template", "nonsense"],
    ["template", "template", "default"],
    ["template", "template", 5],
    ["template", "template", "__proto__"],
    ["fromSnapshot", "fromSnapshot", 5],
    ["cpu", "cpu", 0],
    ["cpu", "cpu", 9],
    ["cpu", "cpu", 1.5],
    ["cpu", "cpu", "2"],
    ["cpu", "cpu", true],
    ["cpu", "cpu", 1e300],
    ["memMb", "memMb", 0],
    ["memMb", "memMb", 16_385],
    ["memMb", "memMb", 512.5],
    ["diskGb", "diskGb", 0],
    ["diskGb", "diskGb", 21],
    ["diskGb", "diskGb", "4"],
    ["isolation", "isolation", "none"],
    ["envs", "envs.A", { A: 1 }],
    ["envs", "envs.A", { A: null }],
    ["envs", "envs.A", { A: long }],
    ["envs", `envs.${long}`, { [long]: "a" }],
    ["envs", "envs", ["a"]],
    ["envs", "envs", "A=b"],
    ["metadata", "metadata.a", { a: 1 }],
    ["metadata", "metadata.a", { a: long }],
    ["metadata", `metadata.${long}`, { [long]: "a" }],
    ["metadata", "metadata", []],
    ["timeoutMs", "timeoutMs", 999],
    ["timeoutMs", "timeoutMs", -1],
    ["timeoutMs", "timeoutMs", "5000"],
    ["timeoutMs", "timeoutMs", 1500.5],
    ["lifecycle", "lifecycle", "kill"],
    ["lifecycle", "lifecycle.onTimeout", { onTimeout: "stop" }],
    ["lifecycle", "lifecycle.autoResume", { autoResume: "yes" }],
    ["lifecycle", "lifecycle.autoResume", { autoResume: 1 }],
    ["lifecycle", "lifecycle", { nonsense: 1 }],
    ["lifecycle", "lifecycle.parkAfterMs", { parkAfterMs: "1000" }],
    ["resolution", "resolution", "big"],
    ["resolution", "resolution", "1280 x 720"],
    ["resolution", "resolution", 1280],
    ["record", "record", "yes"],
    ["volumes", "volumes", {}],
    ["volumes", "volumes.0.path", [{ volumeId: "vol_1", path: "data" }]],
    ["volumes", "volumes.0.volumeId", [{ path: "/data" }]],
    [
      "volumes",
      "volumes",
      [
        { volumeId: "vol_1", path: "/data" },
        { volumeId: "vol_2", path: "/data" },
      ],
    ],
  ])("%s", async (name, field, value) => {
    const response = await post({ [name]: value });
    expect([value, response.status]).toEqual([value, 400]);
    const body = await response.json<{ error: string }>();
    expect(body).toMatchObject({ code: "ValidationError", field });
    expect(body.error).toMatch(new RegExp(`^${field.replaceAll(".", "\\.")}: .`));
  });
});

describe("fields that depend on each other:", () => {
  test.each<[string, object]>([
    ["cpu", { isolation: "shared", cpu: 5 }],
    ["memMb", { isolation: "shared", memMb: 2049 }],
    ["lifecycle.parkAfterMs", { isolation: "shared", lifecycle: { parkAfterMs: 5000 } }],
    ["isolation", { isolation: "shared", kind: "desktop" }],
    ["template", { kind: "desktop", template: "base" }],
    ["template", { kind: "sandbox", template: "office" }],
  ])("%s of %o is 400", async (field, body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field });
  });

  test.each([
    ["RecordingRequiresDesktop", { record: true }],
    ["RecordingRequiresDesktop", { record: true, fromSnapshot: "snap_1" }],
    ["RecordingRequiresGoldenBoot", { kind: "desktop", record: true, fromSnapshot: "snap_1" }],
    ["RecordingRequiresGoldenBoot", { kind: "desktop", record: true, template: "tpl_1" }],
  ])("%s for %o", async (code, body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code });
  });
});

test.each(["{", "[]", "5", "null", '"text"', "not json"])(
  "a body of %o is 400 InvalidJson",
  async (body) => {
    const response = await post(null, { body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "InvalidJson" });
  },
);

test.each([
  { template: "" },
  { template: "  " },
  { template: "base" },
  { lifecycle: {} },
  {
    lifecycle: {
      parkAfterMs: 1,
      hibernateAfterParkedMs: 1e12,
      parkMaxMs: 1e9,
      checkpointEveryMs: 0,
    },
  },
  { isolation: "hardened", cpu: 8, memMb: 16_384, diskGb: 20 },
  { metadata: { "": "", a: "x".repeat(1024) }, envs: { A: "" } },
  { resolution: "1920x1080", record: false, volumes: [] },
])("%o is accepted", async (body) => {
  await newVmHost();
  const org = await newOrg("professional");
  expect((await newSandbox(org.key, body)).kind).toBe("sandbox");
});

describe("what the org may not have, in this order:", () => {
  const refused = async (plan: "free" | "professional", overrides: object, body: object) => {
    const org = await newOrg(plan, overrides);
    const response = await call("/sandboxes", { ...json(body), bearer: org.key });
    return [response.status, (await response.json<{ code: string }>()).code];
  };
  const neither = { features: { sandboxes: false, desktops: false } };
  const desktop = { kind: "desktop" };

  test("a wrong field before anything about the org", async () => {
    expect(await refused("free", neither, { cpu: 0 })).toEqual([400, "ValidationError"]);
  });

  test("neither sandboxes nor desktops is 403", async () => {
    expect(await refused("free", neither, {})).toEqual([403, "NotEntitled"]);
    expect(await refused("free", neither, desktop)).toEqual([403, "NotEntitled"]);
  });

  test("a desktop without the entitlement is 402, and names plan and feature", async () => {
    const org = await newOrg("free");
    const response = await call("/sandboxes", { ...json(desktop), bearer: org.key });
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({
      code: "FeatureRequiresPlan",
      feature: "desktops",
      plan: "starter",
    });
  });

  test.each([
    ["a template that is unknown", { template: "tpl_1" }, 404, "NotFound"],
    ["a snapshot that is unknown", { fromSnapshot: "snap_1" }, 404, "NotFound"],
    ["a snapshot, whatever the template", { fromSnapshot: "s", template: "x" }, 404, "NotFound"],
    ["a volume that is unknown", { volumes: [{ volumeId: "v", path: "/d" }] }, 404, "NotFound"],
  ])("%s, before the concurrency is looked at", async (_name, body, status, code) => {
    expect(await refused("free", { vms: 0 }, body)).toEqual([status, code]);
  });

  test("the concurrency before the capacity", async () => {
    await clearFleet();
    expect(await refused("free", { vms: 0 }, {})).toEqual([429, "ConcurrencyLimitExceeded"]);
  });

  test("what no host can do is 409 and names it; a desktop is 503 NoCapacity with a hint", async () => {
    await newVmHost();
    const org = await newOrg("professional");
    const shared = await call("/sandboxes", { ...json({ isolation: "shared" }), bearer: org.key });
    expect(shared.status).toBe(409);
    expect(await shared.json()).toMatchObject({
      code: "HostCapabilityMissing",
      missingCapabilities: ["isolation.shared"],
      retryable: true,
    });
    const response = await call("/sandboxes", { ...json(desktop), bearer: org.key });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      code: "NoCapacity",
      hint: expect.stringContaining("desktops"),
    });
  });

  test("a host that says it can gets the request whole", async () => {
    const host = await newVmHost({ capabilities: ["isolation.shared", "desktop"] });
    const org = await newOrg("professional");
    await newSandbox(org.key, { isolation: "shared" });
    await newSandbox(org.key, { kind: "desktop", resolution: "800x600", template: "office" });
    const bodies = (await host.calls("PUT")).map(({ body }) => body);
    expect(bodies).toMatchObject([
      { isolation: "shared", memMb: 512 },
      { kind: "desktop", resolution: "800x600", source: { type: "image", name: "office" } },
    ]);
  });
});
