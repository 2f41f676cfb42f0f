import { env } from "cloudflare:workers";
import { Volume } from "@svc/contract/vm/volume.ts";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newVolume } from "../../support/worker/volumes.ts";

const { key } = await newOrg("professional");

test("a volume of an empty body, and of none, has the defaults and nothing else", async () => {
  for (const init of [json({}), { method: "POST" }]) {
    const response = await call("/volumes", { ...init, bearer: key });
    expect(response.status).toBe(201);
    const body = await response.json<object>();
    expect(Object.keys(body).toSorted()).toEqual(["createdAt", "name", "volumeId"]);
    expect(Volume.parse(body).name).toBe("volume");
  }
});

test("what is wrong in a volume's body is dropped, what is right is answered and stored", async () => {
  const asked = { name: " a ", sizeMb: 2e6, metadata: { a: "b", c: 1 }, org: "x" };
  const made = await newVolume(key, asked);
  expect(made).toMatchObject({ name: "a", sizeMb: 1_048_576, metadata: { a: "b" } });
  const response = await call(`/volumes/${made.volumeId}`, { bearer: key });
  expect([response.status, await response.json()]).toEqual([200, made]);
  const plain = await newVolume(key, { name: 5, sizeMb: "1", metadata: ["x"] });
  const got = await call(`/volumes/${plain.volumeId}`, { bearer: key });
  expect(Object.keys(await got.json<object>()).toSorted()).toEqual([
    "createdAt",
    "name",
    "volumeId",
  ]);
});

test.each(["{", "[]", "null", "5", '"text"'])("a volume's body of %s is 400", async (body) => {
  const response = await call("/volumes", { method: "POST", body, bearer: key });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "InvalidJson" });
});

const { volumeId } = { volumeId: `vol_${"0".repeat(32)}` };

test.each([
  ["POST", "/volumes", {}],
  ["GET", "/volumes", undefined],
  ["GET", `/volumes/${volumeId}`, undefined],
  ["DELETE", `/volumes/${volumeId}`, undefined],
  ["POST", "/sandboxes", { volumes: [{ volumeId, path: "/data" }] }],
  ["POST", "/desktops", { volumes: [{ volumeId, path: "/data" }] }],
])(
  "%s %s is 501 where the volumes store is unconfigured, for a good key",
  async (method, path, body) => {
    const bare = { ...env, OBJECTS: undefined };
    const init = body ? json(body, method) : { method };
    const headers = { authorization: `Bearer ${key}` };
    const response = await app.request(path, { ...init, headers }, bare);
    expect(response.status).toBe(501);
    expect(await response.json()).toMatchObject({ code: "NotConfigured" });
    expect((await app.request(path, init, bare)).status).toBe(401);
  },
);

const fail = () => Promise.reject(new Error("D1 is down"));
const bind = () => ({ run: fail, first: fail, all: fail });
const DB = { prepare: () => ({ bind }), batch: fail };

test.each([
  ["POST", "", 502, "ControlPlaneUnavailable"],
  ["GET", "", 502, "ControlPlaneUnavailable"],
  ["GET", "/:id", 502, "ControlPlaneUnavailable"],
  // Whether it is attached cannot be told: it is not deleted.
  ["DELETE", "/:id", 503, "VolumeStatusUnknown"],
])(
  "while D1 fails %s /volumes%s is %d %s, and the volume is as before",
  async (method, rest, status, code) => {
    const volume = await newVolume(key);
    const headers = { authorization: `Bearer ${key}` };
    const path = `/volumes${rest.replace(":id", volume.volumeId)}`;
    const response = await app.request(path, { method, headers }, { ...env, DB });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code, retryable: true });
    const after = await call(`/volumes/${volume.volumeId}`, { bearer: key });
    expect(await after.json()).toEqual(volume);
  },
);
