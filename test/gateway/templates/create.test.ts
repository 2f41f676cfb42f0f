import { expect, test } from "vitest";
import { call, clearFleet, newOrg } from "../../support/worker/gateway.ts";
import { bodyOf, newTemplate, post } from "../../support/worker/templates.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

await clearFleet();

const { key } = await newOrg("professional");

const one = (step: object) => ({ steps: [step] });

const long = (characters: number) => "x".repeat(characters + 1);

test.each<[string, object, object]>([
  ["name", {}, { name: undefined }],
  ["name", {}, { name: " " }],
  ["name", {}, { name: long(100) }],
  ["name", {}, { name: 5 }],
  ["kind", {}, { kind: "vm" }],
  ["cpu", {}, { cpu: 9 }],
  ["memMb", {}, { memMb: 0 }],
  ["diskGb", {}, { diskGb: 1.5 }],
  ["skipCache", {}, { skipCache: "yes" }],
  ["compiled", {}, { compiled: undefined }],
  ["compiled", { nonsense: 1 }, {}],
  ["compiled.from", { from: {} }, {}],
  ["compiled.from", { from: { template: "base", snapshot: "snap_1" } }, {}],
  ["compiled.from", { from: { image: "base" } }, {}],
  ["compiled.from.template", { from: { template: "nonsense" } }, {}],
  ["compiled.from.template", { from: { template: "default" } }, {}],
  ["compiled.from.template", { from: { template: "base" } }, { kind: "desktop" }],
  ["compiled.steps", { steps: {} }, {}],
  ["compiled.steps", { steps: Array.from({ length: 101 }, () => ({ type: "run", cmd: "a" })) }, {}],
  ["compiled.steps.0.type", one({ type: "nonsense" }), {}],
  ["compiled.steps.0.type", one({ cmd: "true" }), {}],
  ["compiled.steps.0", one({ type: "run", cmd: "true", more: 1 }), {}],
  ["compiled.steps.0.cmd", one({ type: "run" }), {}],
  ["compiled.steps.0.cmd", one({ type: "run", cmd: "" }), {}],
  ["compiled.steps.0.cmd", one({ type: "run", cmd: "a\0b" }), {}],
  ["compiled.steps.0.cmd", one({ type: "run", cmd: long(64 * 1024) }), {}],
  ["compiled.steps.0.user", one({ type: "run", cmd: "a", user: "-root" }), {}],
  ["compiled.steps.0.packages", one({ type: "apt", packages: [] }), {}],
  ["compiled.steps.0.packages", one({ type: "apt", packages: "curl" }), {}],
  ["compiled.steps.0.packages.0", one({ type: "apt", packages: ["--force-yes"] }), {}],
  ["compiled.steps.0.packages.0", one({ type: "apt", packages: ["a b"] }), {}],
  ["compiled.steps.0.packages.1", one({ type: "apt", packages: ["a", "$(x)"] }), {}],
  ["compiled.steps.0.packages.0", one({ type: "apt", packages: ["./a.deb"] }), {}],
  ["compiled.steps.0.packages", one({ type: "apt", packages: Array(101).fill("a") }), {}],
  ["compiled.steps.0.packages.0", one({ type: "pip", packages: ["-r"] }), {}],
  ["compiled.steps.0.packages.0", one({ type: "pip", packages: ["a;b"] }), {}],
  ["compiled.steps.0.packages.0", one({ type: "pip", packages: [long(200)] }), {}],
  ["compiled.steps.0.packages.0", one({ type: "npm", packages: ["--prefix=/"] }), {}],
  ["compiled.steps.0.packages.0", one({ type: "npm", packages: ["a b"] }), {}],
  ["compiled.steps.0.global", one({ type: "npm", packages: ["a"], global: 1 }), {}],
  ["compiled.steps.0.envs.A", one({ type: "env", envs: { A: 1 } }), {}],
  ["compiled.steps.0.envs.A=B", one({ type: "env", envs: { "A=B": "c" } }), {}],
  ["compiled.steps.0.path", one({ type: "workdir", path: "srv" }), {}],
  ["compiled.steps.0.path", one({ type: "workdir", path: "/srv/../etc" }), {}],
  ["compiled.steps.0.name", one({ type: "user", name: "Robert" }), {}],
  ["compiled.steps.0.path", one({ type: "write", path: "a", content: "" }), {}],
  ["compiled.steps.0.content", one({ type: "write", path: "/a" }), {}],
  ["compiled.steps.0.content", one({ type: "write", path: "/a", content: long(512 * 1024) }), {}],
  ["compiled.steps.0.encoding", one({ type: "write", path: "/a", content: "", encoding: "x" }), {}],
  [
    "compiled.steps.0.content",
    one({ type: "write", path: "/a", content: "%%", encoding: "base64" }),
    {},
  ],
  ["compiled.steps.0.mode", one({ type: "write", path: "/a", content: "", mode: 0o10000 }), {}],
  ["compiled.steps.0.mode", one({ type: "write", path: "/a", content: "", mode: "rwx" }), {}],
  ["compiled.steps.0.url", one({ type: "git", url: "--upload-pack=x", path: "/a" }), {}],
  ["compiled.steps.0.url", one({ type: "git", url: "file:///etc", path: "/a" }), {}],
  ["compiled.steps.0.ref", one({ type: "git", url: "https://a/b", ref: "-x", path: "/a" }), {}],
  ["compiled.start.cmd", { start: {} }, {}],
  ["compiled.start", { start: { cmd: "a", nonsense: 1 } }, {}],
  ["compiled.start.ready", { start: { cmd: "a", ready: {} } }, {}],
  ["compiled.start.ready", { start: { cmd: "a", ready: { port: 80, cmd: "b" } } }, {}],
  ["compiled.start.ready.port", { start: { cmd: "a", ready: { port: 0 } } }, {}],
  ["compiled.start.ready.url", { start: { cmd: "a", ready: { url: "a" } } }, {}],
  ["compiled.start.ready.timeoutMs", { start: { cmd: "a", ready: { port: 1, timeoutMs: 1 } } }, {}],
  ["compiled.localFiles", { localFiles: {} }, {}],
])(
  "a build whose %s is wrong is 400 and names the field: %o %o",
  async (field, compiled, facts) => {
    const response = await post(key, bodyOf(compiled, facts));
    expect(response.status).toBe(400);
    const body = await response.json<{ error: string }>();
    expect(body).toMatchObject({ code: "ValidationError", field });
    expect(body.error).toContain(field);
  },
);

test.each<object>([
  { type: "apt", packages: ["curl", "libc6:amd64", "g++", "git=1:2.39.5-0+deb12u2"] },
  { type: "pip", packages: ["numpy", "a[b,c]>=1.2,<2", "x==1.0.*", "y ~= 1.1"] },
  {
    type: "npm",
    packages: ["left-pad", "@scope/name@^1.2.0", "typescript@latest"],
    global: true,
  },
  { type: "run", cmd: "a | b && c", user: "worker" },
  { type: "env", envs: { A: "b", C: "" } },
  { type: "workdir", path: "/srv/app" },
  { type: "user", name: "worker" },
  { type: "write", path: "/a", content: "aGk=", encoding: "base64", mode: "0755" },
  { type: "write", path: "/a", content: "", mode: 420 },
  { type: "git", url: "https://example.com/a.git", ref: "v1.0", path: "/srv/a" },
])("a step of the form %o is taken", async (step) => {
  const { key: mine } = await newOrg("professional");
  const template = await newTemplate(mine, bodyOf({ steps: [step] }));
  expect(template).toMatchObject({ state: "building", step: 0, steps: 1, name: "mine" });
});

test.each<[string, object]>([
  ["localFiles that is not empty", { localFiles: [{ src: "a" }] }],
  ["localFiles, whatever else is wrong", { localFiles: ["a"], steps: 5 }],
  ["a copy step", one({ type: "copy", src: "a", dest: "/a", hash: "b" })],
])("a build with %s is 400 LocalFilesUnsupported", async (_name, compiled) => {
  const response = await post(key, bodyOf(compiled));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "LocalFilesUnsupported" });
});

test.each([["[]"], ["5"], ["null"], ["{"]])(
  "a build with a body of %s is 400 InvalidJson",
  async (body) => {
    const response = await call("/templates", { method: "POST", body, bearer: key });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "InvalidJson" });
  },
);

test("a build with an empty list of files, null fields and unknown top-level fields is begun", async () => {
  const { key: mine } = await newOrg("professional");
  const nulls = { kind: null, cpu: null, memMb: null, diskGb: null, skipCache: null, other: 1 };
  const template = await newTemplate(mine, bodyOf({ localFiles: [], start: null }, nulls));
  expect(template).toMatchObject({ kind: "sandbox", cpu: 2, memMb: 2048, diskGb: 4 });
});

test.each<[string, Parameters<typeof newOrg>, object, number, object]>([
  ["templates", ["free"], {}, 402, { code: "FeatureRequiresPlan", feature: "templates" }],
  [
    "desktops",
    ["starter", { features: { desktops: false } }],
    { kind: "desktop", compiled: { from: { template: "default" }, steps: [] } },
    402,
    { code: "FeatureRequiresPlan", feature: "desktops" },
  ],
  [
    "neither product",
    ["starter", { features: { desktops: false, sandboxes: false } }],
    {},
    403,
    { code: "NotEntitled" },
  ],
])(
  "a build of an org whose plan lacks %s is refused",
  async (_name, org, facts, status, answer) => {
    const { key: mine } = await newOrg(...org);
    const response = await post(mine, bodyOf({}, facts));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject(answer);
  },
);

test("a build without credit is 402, and a wrong field comes first", async () => {
  const { key: mine, orgId } = await newOrg("professional");
  const body = JSON.stringify({ creditCents: 0 });
  await call(`/admin/orgs/${orgId}`, { method: "PATCH", body, bearer: ADMIN_TOKEN });
  const { key: fresh } = await (
    await call(`/admin/orgs/${orgId}/keys`, { method: "POST", bearer: ADMIN_TOKEN })
  ).json<{ key: string }>();
  const refused = await post(fresh, bodyOf());
  expect(refused.status).toBe(402);
  expect(await refused.json()).toMatchObject({ code: "InsufficientCredit" });
  expect((await post(mine, bodyOf({}, { name: "" }))).status).toBe(400);
});

test.each<[string, object]>([
  ["a template that is unknown", { from: { template: "tpl_AAAAAAAAAAAAAAAAAAAA" } }],
  ["a snapshot that is unknown", { from: { snapshot: "snap_1" } }],
])("a build from %s is 404", async (_name, compiled) => {
  const response = await post(key, bodyOf(compiled));
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code: "NotFound" });
});
