import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { call, json, newOrg } from "../support/worker/gateway.ts";
import { snapshotting } from "../support/worker/snapshots.ts";
import { newBuildHost, post as build, until } from "../support/worker/templates.ts";
import { newSandbox, newVmHost, type VmHost } from "../support/worker/vm-host.ts";
import { ADMIN_TOKEN } from "../support/secrets.ts";

/** Names that objects of JavaScript have by themselves: to a client they are keys like any other. */
const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"];

interface Carried {
  /** Status of the answer. */
  status: number;
  /** The map as it came out at the other end. */
  map: unknown;
}

/** Sends a map, and reads it back from where it arrives. */
type Route = (text: string) => Promise<Carried>;

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

async function machine(path: string, field: "metadata" | "envs", text: string): Promise<Carried> {
  const host: VmHost = await newVmHost({ capabilities: ["desktop"] });
  const { key } = await newOrg("professional");
  const body = `{"${field}":${text}}`;
  const made = await call(path, { method: "POST", body, bearer: key });
  if (made.status !== 201) return { status: made.status, map: await made.json() };
  const { sandboxId, sessionId } = await made.json<{ sandboxId?: string; sessionId?: string }>();
  const [placed] = await host.calls("PUT");
  const record = await call(`/sandboxes/${sandboxId ?? sessionId}`, { bearer: key });
  const { metadata } = await record.json<{ metadata: unknown }>();
  const { envs } = (placed?.body ?? {}) as { envs?: unknown };
  return { status: 201, map: field === "envs" ? envs : metadata };
}

async function snapshot(text: string): Promise<Carried> {
  const { key, id } = await snapshotting();
  const body = `{"metadata":${text}}`;
  const path = `/sandboxes/${id}/snapshots`;
  const made = await call(path, { method: "POST", body, bearer: key });
  if (made.status !== 201) return { status: made.status, map: await made.json() };
  const { snapshotId } = await made.json<{ snapshotId: string }>();
  const record = await call(`/snapshots/${snapshotId}`, { bearer: key });
  return { status: 201, map: (await record.json<{ metadata: unknown }>()).metadata };
}

async function volume(text: string): Promise<Carried> {
  const { key } = await newOrg();
  const made = await call("/volumes", {
    method: "POST",
    body: `{"metadata":${text}}`,
    bearer: key,
  });
  const { volumeId } = await made.json<{ volumeId: string }>();
  const record = await call(`/volumes/${volumeId}`, { bearer: key });
  const { metadata } = await record.json<{ metadata?: unknown }>();
  return { status: made.status, map: metadata };
}

async function template(text: string): Promise<Carried> {
  const host = await newBuildHost();
  const { key } = await newOrg("professional");
  const step: unknown = JSON.parse(`{"type":"env","envs":${text}}`);
  const made = await build(key, {
    name: "mine",
    compiled: { from: { template: "base" }, steps: [step] },
  });
  if (made.status !== 202) return { status: made.status, map: await made.json() };
  await until(key, (await made.json<{ templateId: string }>()).templateId);
  const [{ body } = { body: null }] = await host.calls("POST");
  return { status: 201, map: (body as { steps: [{ envs: unknown }] }).steps[0].envs };
}

async function profile(text: string): Promise<Carried> {
  const { key, orgId } = await newOrg();
  const made = await call("/profiles", { ...json({ name: "a" }), bearer: key });
  const { id } = await made.json<{ id: string }>();
  const body = `{"storageState":${text}}`;
  const saved = await call(`/profiles/${id}/save`, { method: "POST", body, bearer: key });
  const { storageStateS3Key = "" } = await saved.json<{ storageStateS3Key?: string }>();
  const stored = await env.OBJECTS.get(storageStateS3Key);
  if (!stored) throw new Error(`nothing is stored for ${orgId}`);
  return { status: saved.status + 1, map: await stored.json() };
}

const ROUTES: [string, Route][] = [
  ["metadata of POST /sandboxes", (text) => machine("/sandboxes", "metadata", text)],
  ["envs of POST /sandboxes", (text) => machine("/sandboxes", "envs", text)],
  ["metadata of POST /desktops", (text) => machine("/desktops", "metadata", text)],
  ["metadata of a snapshot", snapshot],
  ["metadata of a volume", volume],
  ["envs of a template's step", template],
  ["storageState of a profile", profile],
];

describe.each(ROUTES)("%s", (_name, route) => {
  test("keeps every key, whatever objects of JavaScript call their own", async () => {
    const text = `{${NAMES.map((name) => `"${name}":"of ${name}"`).join(",")}}`;
    const { status, map } = await route(text);
    expect(status).toBe(201);
    expect(JSON.stringify(asJson(map))).toBe(text);
    expect(({} as { of?: string }).of).toBeUndefined();
  });
});

describe.each(ROUTES.filter(([name]) => !/volume|profile/.test(name)))("%s", (_name, route) => {
  test.each(NAMES)("of %s is 400 when its value is no text", async (name) => {
    for (const value of ['{"polluted":"yes"}', "5", "null"]) {
      const { status, map } = await route(`{"a":"b","${name}":${value}}`);
      expect([status, map]).toMatchObject([400, { code: "ValidationError" }]);
      const { field } = map as { field: string };
      expect(field.endsWith(`.${name}`)).toBe(true);
    }
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });
});

test("a list is filtered by a label of such a name", async () => {
  await newVmHost();
  const { key } = await newOrg("professional");
  for (const name of NAMES) {
    // A computed name is a key, also this one.
    const { sandboxId } = await newSandbox(key, { metadata: { [name]: "a" } });
    const list = await call(`/sandboxes?metadata.${name}=a`, { bearer: key });
    const { sandboxes } = await list.json<{ sandboxes: { sandboxId: string }[] }>();
    expect(sandboxes.map((one) => one.sandboxId)).toEqual([sandboxId]);
  }
});

test.each(NAMES)("an object whose keys are known takes none called %s", async (name) => {
  const { key } = await newOrg("professional");
  const sent = await call("/sandboxes", {
    method: "POST",
    body: `{"lifecycle":{"${name}":"kill"}}`,
    bearer: key,
  });
  expect([sent.status, await sent.json()]).toMatchObject([400, { field: "lifecycle" }]);
  const body = `{"name":"a","plan":"free","overrides":{"features":{"${name}":true}}}`;
  const org = await call("/admin/orgs", { method: "POST", body, bearer: ADMIN_TOKEN });
  expect([org.status, await org.json()]).toMatchObject([400, { field: "overrides.features" }]);
});
